#!/bin/bash
# Question: how accurate is Sigmoid in float32 for inputs below -10, where a network predicts a small mass fraction?
# Guess (60 %): right to a few digits, with a small constant floor instead of values below 1e-8.
# What happens: the relative error grows without a bound. Sigmoid(-10) is wrong by 2e-4, Sigmoid(-17) is 2.2 times too large, and
#   everything from -18 down is exactly 0 (1.5e-8 expected). In float64 the values are right. The reference evaluator of onnx, and the
#   same function composed as Exp/(1 + Exp), are right in float32.
# Version: onnxruntime 1.32.0 (CPU provider), onnx 1.23.2, numpy 2.4.6.
# Who meets it: who exports a network with a sigmoid (or swish) output to ONNX and predicts radicals, soot or NO with it.
# Instead: predict the logarithm and apply Exp, or export the last layer in float64.
# Upstream: onnxruntime issue 22557 (open) tells of values at or below 0 near -18, not of the errors before it.
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
from onnx import TensorProto, helper, parser
from onnx.reference import ReferenceEvaluator

print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__, "numpy", np.__version__)


def sigmoid(x, kind):
    x_info, y_info = (helper.make_tensor_value_info(name, kind, [None]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["y"])], "graph", [x_info], [y_info])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0], ReferenceEvaluator(model).run(None, {"x": x})[0]


composed = parser.parse_model("""<ir_version: 9, opset_import: ["": 20]> g (float[N] x) => (float[N] y)
<float one = {1.0}> { e = Exp(x) s = Add(e, one) y = Div(e, s) }""")
session = onnxruntime.InferenceSession(composed.SerializeToString(), providers=["CPUExecutionProvider"])

x = np.float32([-5, -10, -15, -17, -18, -20, -30])
exact = np.exp(x.astype(float)) / (1 + np.exp(x.astype(float)))
single, reference = sigmoid(x, TensorProto.FLOAT)
double, _ = sigmoid(x.astype(float), TensorProto.DOUBLE)
by_exp = session.run(None, {"x": x})[0]
print("x          exact      float32    reference  float64    Exp/(1+Exp)")
for row in zip(x, exact, single, reference, double, by_exp):
    print(("%5.0f" + "  %9.3e" * 5) % tuple(row))
error = np.abs(single / exact - 1)
assert error[0] < 1e-4 and error[1] > 1e-5 and error[3] > 0.5, error
assert (single[4:] == 0).all(), single
assert np.allclose(reference / exact, 1, rtol=1e-5) and np.allclose(by_exp / exact, 1, rtol=1e-5)
assert np.allclose(double[:6] / exact[:6], 1, rtol=1e-3)
print("PASS")
PYTHON
