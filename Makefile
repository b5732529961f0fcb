# Warp & Weft. `make` says what there is; `make lab` is where to start.
#
#   PYTHON=python3.12       the Python to use; otherwise the first suitable one found
#   VARIANT=cpu|cu12|cu13   the packages to install; auto: what the driver can run
#   LAB=05_first_kernel     the notebook to make, run or test; otherwise every one
#   ARGS="--port 9000"      options for JupyterLab, the pipeline, the book or pytest

# These would bring in packages from elsewhere.
unexport PYTHONPATH PYTHONHOME
export VARIANT TORCH_INDEX PYTHON

suitable = import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
find = for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(suitable)' 2>/dev/null && echo $$p && exit; done; echo python3
python = $(or $(PYTHON),$(shell $(find)))
venv = .venv/bin/python
pytest = $(venv) -m pytest -p no:nbval
tests = $(or $(ARGS),$(if $(LAB),tests/test_*.py --long,tests)) $(if $(LAB),-k $(LAB))

# What `make lab` needs: no solutions, and no tests, which have answers too.
handed_out = labs chapters grading weft results Makefile install.py lab.py \
	installing requirements-learner.txt requirements.txt constraints.txt pyproject.toml _toc.yml README.md LICENSE \
	LICENSE-text
withheld = ":(exclude,glob)chapters/*/lab.py" ":(exclude,glob)chapters/*/answers/**"

# What `make oldest` tests: the simulator, and checks of kernels.
simulator = backend simulator simulator_features language shapes intrinsics barriers \
	collectives aligned_arrays tensor_cores sanitizer counters check check_launch \
	corpus streams compiling package

.DEFAULT_GOAL := help
.PHONY: help lab repair test test-all lint oldest newest book figures film notebooks \
	refresh labs execute nbval handout update vendor clean learner author

help:  ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 18

lab: learner  ## Install what a learner needs, and open JupyterLab on the labs
	@$(venv) lab.py $(ARGS)

repair:  ## Compare every installed file with its hash, and replace what is damaged
	@$(python) install.py --repair

test: author  ## Everything that can be verified without a GPU
	@$(pytest) -m alone $(tests) || [ $$? = 5 ]  # 5: no such test
	@$(pytest) -m "not alone" -n auto --dist worksteal $(tests)

test-all: author  ## The same with every wrong kernel and mutant: the long tier too
	@$(MAKE) --no-print-directory test ARGS="$(tests) --long"

lint: author  ## Ruff and mypy alone
	@$(venv) -m ruff check .
	@$(venv) -m mypy

oldest:  ## Test the simulator and checks with the oldest Numba that is supported
	@$(python) -m venv --clear _build/oldest
	@_build/oldest/bin/python -m pip install -q -r requirements-oldest.txt
	@_build/oldest/bin/python -m pytest -q -p no:cacheprovider \
		$(patsubst %,tests/test_%.py,$(simulator))

newest:  ## Test with the newest packages that fit; rewrites constraints.txt
	@$(python) install.py --pins
	@$(MAKE) test

book: author  ## The book, in _build/html
	@$(venv) book/build.py $(ARGS)

figures: author  ## Draw the figures' still pictures, in Chromium
	@$(venv) book/stills.py $(ARGS)

film: book  ## Film the landing page's kernel for the README, in Chromium
	@$(venv) book/film.py

notebooks: author  ## chapters/*/lab.py -> solutions/*.ipynb
	@$(venv) -m pipeline notebooks $(LAB)

refresh: author  ## Run new and changed cells of the solutions, in the simulator
	@$(venv) -m pipeline refresh $(LAB)

labs: author  ## solutions/*.ipynb -> labs/*.ipynb
	@$(venv) -m pipeline labs $(LAB)

execute: author  ## Run the solutions on this GPU; write outputs and results/
	@$(venv) -m pipeline execute $(LAB) $(ARGS)

nbval: author  ## Run every cell of the solutions as a test
	@$(venv) -m pipeline nbval $(LAB) $(ARGS)

handout:  ## What learners get, without the answers: _build/handout.zip
	@mkdir -p _build
	@git archive --format=zip --prefix=warp-and-weft/ -o _build/handout.zip HEAD \
		$(handed_out) $(withheld)
	@echo _build/handout.zip

update:  ## Bring the course up to date; what you wrote in the labs is kept
	@$(python) update.py

vendor: author  ## Fetch the book's scripts from npm into book/vendor
	@$(venv) book/fetch_vendor.py
	@$(venv) book/bundle_d3.py
	@$(venv) book/bundle_editor.py

clean:  ## Remove .venv and what was built; your labs and your progress stay
	@if [ ! -e .venv ] || [ -e .venv/weft-install.json ]; then rm -rf .venv; \
	else echo ".venv was not made by this course; it stays"; fi
	rm -rf _build node_modules .pytest_cache .hypothesis .mypy_cache .ruff_cache
	rm -rf __pycache__ .venv.lock
	find $(wildcard installing weft pipeline grading book chapters tests) -name __pycache__ \
		-prune -exec rm -rf {} +

learner:
	@$(python) install.py --compile-later

author:
	@$(python) install.py --dev
