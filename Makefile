# Warp & Weft. `make` says what there is; `make lab` is where to start.
#
#   PYTHON=python3.12       the Python to use; otherwise the first suitable one found
#   VARIANT=cpu|cu12|cu13   the packages to install; auto: what the driver can run
#   ARGS="--port 9000"      options for JupyterLab

# These would bring in packages from elsewhere.
unexport PYTHONPATH PYTHONHOME
export VARIANT TORCH_INDEX PYTHON

suitable = import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
find = for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(suitable)' 2>/dev/null && echo $$p && exit; done; echo python3
python = $(or $(PYTHON),$(shell $(find)))
venv = .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help lab repair clean learner

help:  ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 18

lab: learner  ## Install what a learner needs, and open JupyterLab on the labs
	@$(venv) lab.py $(ARGS)

repair:  ## Compare every installed file with its hash, and replace what is damaged
	@$(python) install.py --repair

clean:  ## Remove .venv and what was built; your labs and your progress stay
	@if [ ! -e .venv ] || [ -e .venv/weft-install.json ]; then rm -rf .venv; \
	else echo ".venv was not made by this course; it stays"; fi
	rm -rf _build node_modules .pytest_cache .hypothesis .mypy_cache .ruff_cache
	rm -rf __pycache__
	find $(wildcard weft pipeline grading book chapters tests) -name __pycache__ \
		-prune -exec rm -rf {} +

learner:
	@$(python) install.py --compile-later

# What needs the whole repository; a handout and an image do not have it.
-include pipeline/targets.mk
