"""Names of columns: those of the demonstrations, of the world, or the usual ones, in this order."""

import gymnasium
import numpy as np
import pytest
from tiny import NAVIGATION as DEMOS
from tiny import TINY

import etairl
from etairl.demos import load_demos
from etairl.tasks.column_names import named
from etairl.training.flat import configure
from etairl.types import Spec


@pytest.mark.parametrize("name", ["Hopper-v5", "HalfCheetah-v5", "Walker2d-v5", "Ant-v5"])
def test_joints_and_motors_are_in_the_order_of_the_simulator(name: str):
    world = gymnasium.make(name).unwrapped
    model = world.model
    spec = named(
        Spec(27 if name == "Ant-v5" else world.observation_space.shape[0], model.nu), WORLD[name]
    )
    joints = [model.joint(i).name for i in range(model.njnt)]
    motors = [model.joint(int(j)).name for j in model.actuator_trnid[:, 0]]
    assert spec.observation_names is not None
    assert spec.action_names is not None
    hinges = [j for j in joints if not j.startswith("root")]
    angles = [n for n in spec.observation_names if n.endswith(" angle") and "torso" not in n]
    speeds = [
        n for n in spec.observation_names if n.endswith(" angle velocity") and "torso" not in n
    ]
    assert [n.removesuffix(" velocity") for n in speeds] == angles
    assert [plain(a.removesuffix(" angle")) for a in angles] == [plain(j) for j in hinges]
    assert [plain(a) for a in spec.action_names] == [plain(m) for m in motors]


WORLD = {
    name: Spec(1, 1, environment=name)
    for name in ("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5", "Ant-v5")
}


def plain(joint: str) -> str:
    """`bthigh`, `thigh_left_joint` and `hip_4` as sorted words."""
    joint = joint.removesuffix("_joint")
    if joint[0] in "bf" and joint[1:] in ("thigh", "shin", "foot"):
        joint = {"b": "back ", "f": "front "}[joint[0]] + joint[1:]
    return " ".join(sorted(joint.replace("_", " ").split()))


def test_whose_names_come_first():
    usual = Spec(3, 1, environment="Pendulum-v1")
    assert named(usual, usual).observation_names == ("cos angle", "sin angle", "angular velocity")
    assert named(usual, usual).action_names == ("torque",)
    mine = Spec(3, 1, observation_names=("a", "b", "c"))
    assert named(usual, usual, mine).observation_names == ("a", "b", "c")
    assert named(usual, mine, usual).action_names == ("torque",)
    marked = Spec(4, 1, environment="Pendulum-v1")
    names = named(marked, usual, marked, absorbing=True).observation_names
    assert names == ("cos angle", "sin angle", "angular velocity", "absorbing")
    assert named(usual, Spec(4, 1, observation_names=names)).observation_names == names[:-1]
    for other in ("Pendulum-mine", "MyPendulum-v1", "Pendulum"):
        strange = Spec(3, 1, environment=other)
        assert named(strange, strange).observation_names is None
    wider = Spec(5, 1, environment="Pendulum-v1")
    assert named(wider, wider).observation_names is None


def test_names_of_navigation_are_those_of_its_observations():
    demos = load_demos(DEMOS)
    names = named(demos.spec, demos.spec).observation_names
    assert names is not None
    row = dict(zip(names, demos.trajectories.observations[0].tolist(), strict=True))
    assert row["to lake 1"] == pytest.approx(np.hypot(row["x"] + 5.0, row["y"] - 4.5), rel=1e-4)
    target = demos.trajectories.tasks
    assert target is not None
    assert (row["target x"], row["target y"]) == pytest.approx(tuple(target[0]), rel=1e-4)


def test_weights_of_a_linear_cost_have_the_names_of_the_demonstrations(tmp_path):
    """In an explanation, too."""
    config = configure(TINY, algorithm="emma", transitions=500)
    result = etairl.train(config, tmp_path / "run")
    found = result.explain(episodes=2)
    assert found.names == ("cos angle", "sin angle", "angular velocity", "torque")
    assert found.features is not None
    assert {*found.names, "cos angle·torque"} <= {f.name for f in found.features}
