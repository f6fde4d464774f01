#!/bin/bash
# Question: does ReduceMax (or ReduceMin, MaxPool) in an exported graph show that one of the numbers is NaN?
# Guess (50 %): yes, since Max, Relu and Clip keep NaN in onnxruntime, and numpy's max does.
# What happens: only where NaN stands first. ReduceMax of [NaN, 1, 2] is NaN, of [1, NaN, 2] it is 2; ReduceMin likewise; MaxPool drops
#   NaN, too. ReduceMean and the element-wise Max keep it. The reference evaluator of onnx gives NaN for both orders.
# Version: onnxruntime 1.32.0 (CPU provider), onnx 1.23.2, numpy 2.4.6.
# Who meets it: who judges a whole batch by one number in the graph (largest residual, largest temperature): a state that became NaN
#   passes "maximum below the limit".
# Instead: ReduceSum of IsNaN (cast to float), or ReduceMean beside the maximum.
# Date: 2026-11-29
set -eu
[ "$(uname -m)" = x86_64 ] || { echo "NOT CHECKED: needs x86-64"; exit 0; }
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 -W ignore - <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__, "numpy", np.__version__)


def results(operator, *inputs, **attributes):
    """What onnxruntime and the reference evaluator give for one operator."""
    feeds = {f"x{i}": np.asarray(x, np.float32) for i, x in enumerate(inputs)}
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in [*feeds, "y"]]
    graph = helper.make_graph([helper.make_node(operator, list(feeds), ["y"], **attributes)], "graph", infos[:-1], infos[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0], ReferenceEvaluator(model).run(None, feeds)[0]


first, inside = [np.nan, 1, 2], [1, np.nan, 2]
for operator, dropped in (("ReduceMax", 2), ("ReduceMin", 1)):
    seen = {name: results(operator, x, keepdims=0) for name, x in (("first", first), ("inside", inside))}
    print(operator, "of NaN first and inside:", [float(seen[name][0]) for name in seen], "reference", [float(seen[name][1]) for name in seen])
    assert np.isnan(seen["first"][0]) and seen["inside"][0] == dropped
    assert np.isnan(seen["first"][1]) and np.isnan(seen["inside"][1])
many = np.ones(1000)
many[500] = np.nan
pooled = results("MaxPool", [[inside]], kernel_shape=[3])[0].item()
print("ReduceMax of 1000 with one NaN:", results("ReduceMax", many, keepdims=0)[0], "MaxPool of [1, NaN, 2]:", pooled)
assert results("ReduceMax", many, keepdims=0)[0] == 1 and pooled == 2
assert np.isnan(results("ReduceMean", many, keepdims=0)[0]) and np.isnan(results("Max", inside, [1, 1, 1])[0][1])
print("PASS")
PYTHON
