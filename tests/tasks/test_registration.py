"""Navigation in Gymnasium: registered once, whoever imports what first, and without a warning."""

import subprocess
import sys

import pytest

MODULE = "etairl.tasks.navigation_env"
LONG, SHORT = f"{MODULE}:etairl/Navigation-v0", "etairl/Navigation-v0"
IMPORTS = {
    "gymnasium alone": "",
    "after the module": f"import {MODULE}",
    "after a task": "import etairl.tasks as t; t.make_task('Pendulum-v1', 1, engine='gymnasium')",
}


@pytest.mark.parametrize("first", IMPORTS.values(), ids=IMPORTS)
def test_made_by_gymnasium(first):
    """In a process of its own: here, other tests have registered it already."""
    code = f"""
import warnings
warnings.simplefilter("error")
import gymnasium
{first}
for name in {[LONG, LONG, SHORT]}:
    env = gymnasium.make(name)
    observation, _ = env.reset(seed=0)
    print(observation.shape, env.spec.max_episode_steps, type(env.unwrapped).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(8,) 50 NavigationEnv"] * 3
    assert "Overriding" not in done.stderr
