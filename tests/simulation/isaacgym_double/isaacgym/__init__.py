"""IsaacGym's public interface, implemented with MuJoCo: a double of `isaacgym` for tests of the bridge's host.

It has only what is documented, refuses what is forbidden (unknown settings, tensors that are not contiguous or of
another type, tensors before the simulation is prepared, PyTorch imported first), and of several writes between two
steps heeds the last.
"""

import sys

if "torch" in sys.modules:
    raise ImportError("PyTorch was imported before isaacgym modules.  Please import torch after isaacgym modules.")
