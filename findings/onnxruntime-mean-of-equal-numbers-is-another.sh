#!/bin/bash
# Question: how accurate are ReduceSum, ReduceMean and GlobalAveragePool in float32 over a million cells?
# Guess (70 %): relative error below 1e-4, since numpy and torch sum in blocks.
# What happens: the sum is naive, in float32. A million times 1500 K has the mean 1502.57 K (ReduceMean), 1503.28 K
#   (GlobalAveragePool), a mean above the largest value; ten million times 0.1 sum to 1010792, 1.1 % too much. numpy gives 1500 and
#   1000000. The number of threads changes nothing. In float64 the mean is exact.
# Version: onnxruntime 1.32.0 (CPU provider), onnx 1.23.2, numpy 2.4.6.
# Who meets it: who puts the integral of a field, a normalisation over cells, or a loss over rows into an exported graph.
# Instead: Cast to double before the reduction, or reduce in blocks of a few thousand (Reshape, then two reductions).
# Date: 2026-11-29
set -eu
[ "$(uname -m)" = x86_64 ] || { echo "NOT CHECKED: needs x86-64"; exit 0; }
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 - <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__, "numpy", np.__version__)


def reduce(operator, x, threads=1, kind=TensorProto.FLOAT, **attributes):
    x_info, y_info = (helper.make_tensor_value_info(name, kind, None) for name in "xy")
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], **attributes)], "graph", [x_info], [y_info])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return float(session.run(None, {"x": x})[0].ravel()[0])


T = np.full(1_000_000, 1500, np.float32)
means = [reduce("ReduceMean", T, threads, keepdims=0) for threads in (1, 2)]
pooled = reduce("GlobalAveragePool", T.reshape(1, 1, -1))
double = reduce("ReduceMean", T.astype(float), kind=TensorProto.DOUBLE, keepdims=0)
print("mean of a million times 1500: ReduceMean", means, "GlobalAveragePool", pooled, "float64", double, "numpy", T.mean())
tenths = np.full(10_000_000, 0.1, np.float32)
total = reduce("ReduceSum", tenths, keepdims=0)
print("sum of ten million times 0.1:", total, "numpy", tenths.sum())
assert min(*means, pooled) > 1501 and double == 1500 and T.mean() == 1500
assert total > 1_005_000 and abs(tenths.sum() / 1e6 - 1) < 1e-5
print("PASS")
PYTHON
