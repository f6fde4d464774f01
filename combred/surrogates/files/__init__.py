"""Files of surrogates: safetensors with their card, the models that come along, TorchScript."""
