from typing import Tuple, Dict
from torch import Tensor


def compute_reward(inter_area: Tensor, obj_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the T lies flat on its outline
    done = (inter_area >= 0.9) & (obj_pos[:, 2] < 0.03)
    done = done.float()
    return done, {"done": done}
