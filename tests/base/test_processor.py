"""Tests of what is known of the processor, and what follows from it."""

import pytest

from bitextbench.base import device, processor

INTEL = "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Processor\n"
AMD = "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654\n"


@pytest.fixture
def cpuinfo(tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "cpuinfo")
    return tmp_path / "cpuinfo"


def test_model(cpuinfo):
    assert (processor.info(), processor.model()) == ("", None)
    cpuinfo.write_text(INTEL)
    assert processor.model() == "Intel(R) Xeon(R) Processor"


@pytest.mark.parametrize(
    ("info", "has", "chosen"),
    [
        (INTEL, {"amx_bf16": True, "avx512_bf16": True}, "bfloat16"),
        (INTEL, {"amx_bf16": False, "avx512_bf16": True}, "float32"),  # half as fast as fp32
        (AMD, {"avx512_bf16": True}, "bfloat16"),
        (AMD, {"avx2": True}, "float32"),
    ],
)
def test_auto_is_the_faster_number_format(info, has, chosen, cpuinfo, monkeypatch):
    cpuinfo.write_text(info)
    monkeypatch.setattr(device.torch.cpu, "get_capabilities", lambda: has)
    assert device.number_format("auto", device.torch.device("cpu")) == getattr(device.torch, chosen)
