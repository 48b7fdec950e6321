from typing import Tuple, Dict
from torch import Tensor


def compute_reward(obj_to_goal_dist: Tensor, obj_to_goal_angle: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the charger is where it is when it is plugged in
    done = (obj_to_goal_dist <= 0.005) & (obj_to_goal_angle <= 0.2)
    done = done.float()
    return done, {"done": done}
