"""Writes tests/fixtures/gradients.json: a small transformer's loss, gradients and optimizer steps, and loss and
gradients of a net of convolutions, pooling and transforms, by PyTorch.

    python tools/make_gradient_fixtures.py    # torch 2.15, CPU, double precision

tests/page/training.test.mjs computes the same with `webgguf/training`.
"""

import json
import pathlib

import torch
import torch.nn.functional as F

OUT = pathlib.Path(__file__).parent.parent / "tests" / "fixtures" / "gradients.json"
TOKENS, WIDTH, HEADS, KV_HEADS, HIDDEN, CLASSES = 5, 8, 2, 1, 6, 11
HEAD = WIDTH // HEADS
IDS = [3, 1, 10, 3, 7]
TARGETS = [1, 10, 3, -100, 0]
SHAPES = {
    "embedding": (CLASSES, WIDTH),
    "norm1": (WIDTH,),
    "query": (WIDTH, WIDTH),
    "key": (KV_HEADS * HEAD, WIDTH),
    "value": (KV_HEADS * HEAD, WIDTH),
    "output": (WIDTH, WIDTH),
    "norm2": (WIDTH,),
    "gateUp": (2 * HIDDEN, WIDTH),
    "down": (WIDTH, HIDDEN),
    "norm3": (WIDTH,),
    "bias3": (WIDTH,),
}


def rotate(x):
    """Pairs i and i + dim/2 of [position, head, dim], by position * 10000^(-2i/dim)."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[0])[:, None, None] * 10000.0 ** (-torch.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def loss_of(p):
    x = p["embedding"][IDS]
    h = F.rms_norm(x, (WIDTH,), p["norm1"], eps=1e-5)
    q, k, v = ((h @ p[name].T).view(TOKENS, -1, HEAD) for name in ("query", "key", "value"))
    q, k, v = (y.transpose(0, 1)[None] for y in (rotate(q), rotate(k), v))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    x = x + y[0].transpose(0, 1).reshape(TOKENS, WIDTH) @ p["output"].T
    gate, up = (F.rms_norm(x, (WIDTH,), p["norm2"], eps=1e-5) @ p["gateUp"].T).chunk(2, dim=-1)
    x = x + (F.silu(gate) * up) @ p["down"].T
    x = F.layer_norm(x, (WIDTH,), p["norm3"], p["bias3"], eps=1e-5)
    return F.cross_entropy(x @ p["embedding"].T, torch.tensor(TARGETS))


NET = {
    "x": (2, 4, 7, 8),
    "w1": (6, 2, 3, 3),
    "b1": (6,),
    "weight": (6,),
    "bias": (6,),
    "w2": (6, 3, 2, 2),
    "w3": (3, 3, 3),
}


def net_loss(p):
    y = F.conv2d(p["x"], p["w1"], p["b1"], stride=(1, 2), padding=(2, 1), dilation=(2, 1), groups=2)
    y = F.group_norm(F.silu(y), 3, p["weight"], p["bias"], eps=1e-5)
    y = F.conv_transpose2d(y, p["w2"], stride=2, padding=1, output_padding=1, groups=1)
    y = F.max_pool2d(F.leaky_relu(y), 3, stride=2, padding=1)
    y = F.interpolate(y, size=(5, 6), mode="bilinear", align_corners=False)
    y = F.avg_pool2d(F.elu(y), (2, 3), stride=1, padding=1, count_include_pad=False)
    y = F.conv1d(F.pad(y, (1, 2, 1, 0), mode="reflect").flatten(2), p["w3"], padding=1)
    z = torch.view_as_real(torch.fft.rfft(y))
    back = torch.fft.irfft(torch.view_as_complex(z * z), n=y.shape[-1])
    return (F.hardswish(back) * y).mean()


def trained(initial, optimizer, steps=3):
    p = {name: value.clone().requires_grad_() for name, value in initial.items()}
    made = optimizer(p.values())
    losses, norms = [], []
    for _ in range(steps):
        made.zero_grad()
        loss = loss_of(p)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(p.values(), 0.5).item())
        made.step()
        losses.append(loss.item())
    return {"losses": losses, "norms": norms, "parameters": rounded(p)}


def rounded(tensors):
    return {name: [float(f"{v:.7g}") for v in tensor.flatten().tolist()] for name, tensor in tensors.items()}


def main():
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    initial = {name: torch.randn(shape) * 0.6 for name, shape in SHAPES.items()}
    # What webgguf starts from is f32.
    initial = {name: value.float().double() + ("norm" in name) for name, value in initial.items()}
    p = {name: value.clone().requires_grad_() for name, value in initial.items()}
    loss = loss_of(p)
    loss.backward()
    net = {name: torch.randn(shape).float().double() for name, shape in NET.items()}
    parts = {name: value.clone().requires_grad_() for name, value in net.items()}
    of_net = net_loss(parts)
    of_net.backward()
    fixture = {
        "torch": torch.__version__.split("+")[0],
        "ids": IDS,
        "targets": TARGETS,
        "shapes": SHAPES,
        "parameters": {name: value.float().flatten().tolist() for name, value in initial.items()},
        "loss": loss.item(),
        "gradients": rounded({name: value.grad for name, value in p.items()}),
        "AdamW": trained(initial, lambda p: torch.optim.AdamW(p, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1)),
        "Sgd": trained(initial, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)),
        "net": {
            "shapes": NET,
            "parameters": {name: value.float().flatten().tolist() for name, value in net.items()},
            "loss": of_net.item(),
            "gradients": rounded({name: value.grad for name, value in parts.items()}),
        },
    }
    OUT.write_text(json.dumps(fixture) + "\n")


if __name__ == "__main__":
    main()
