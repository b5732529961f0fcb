# The targets for those who work on the course, and `make update`.
#
#   LAB=05_first_kernel     the notebook to make, run or test; otherwise every one
#   ARGS="--long"           options for the pipeline, the book or pytest

pytest = $(venv) -m pytest -p no:nbval
tests = $(or $(ARGS),$(if $(LAB),tests/test_*.py --long,tests)) $(if $(LAB),-k $(LAB))

# What `make lab` needs: no solutions, and no tests, which have answers too.
handed_out = labs chapters weft results Makefile install.py installing lab.py \
	requirements-learner.txt requirements.txt constraints.txt pyproject.toml _toc.yml \
	LICENSE LICENSE-text
withheld = $(foreach glob,chapters/*/lab.py chapters/*/answers/** results/mutants* \
	results/mutants/** results/agreement*,":(exclude,glob)$(glob)")

# What `make oldest` tests: the simulator, and checks of kernels.
simulator = backend simulator simulator_features language shapes intrinsics barriers \
	collectives aligned_arrays tensor_cores sanitizer counters check check_launch \
	corpus streams compiling package

.PHONY: test test-all lint oldest newest book editions pdf epub figures film notebooks \
	refresh labs execute nbval handout gradescope image update vendor author

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

editions: book  ## The book with the last release next to it, linked page by page
	@$(venv) book/editions.py

pdf: book  ## The whole book as one PDF, _build/warp-and-weft.pdf, by Chromium
	@$(venv) book/pdf.py

epub: book  ## The whole book as one EPUB, _build/warp-and-weft.epub
	@$(venv) book/epub.py

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

nbval: author  ## Run every cell of the solutions as a test, on this GPU
	@$(venv) -m pipeline nbval $(LAB) $(ARGS)

handout:  ## What learners get, without the answers: _build/handout.zip
	@mkdir -p _build
	@git archive --format=zip --prefix=warp-and-weft/ -o _build/handout.zip \
		--add-file=pipeline/handout/README.md HEAD \
		$(handed_out) $(withheld)
	@echo _build/handout.zip

gradescope:  ## An autograder of a lab to upload there: _build/gradescope.zip
	@mkdir -p _build
	@git archive --format=zip --prefix=course/ -o _build/gradescope.zip HEAD \
		$(handed_out) README.md grading $(withheld)
	@$(venv) -m grading.gradescope $(LAB) --pack _build/gradescope.zip $(ARGS)
	@echo _build/gradescope.zip

image:  ## Build the container's image; check an answer and open JupyterLab in it
	@docker build -t weft .
	@docker run --rm --init --network none weft \
		python -m grading 05_first_kernel labs/05_first_kernel.ipynb
	@docker run --rm --init --detach --name weft-image weft >/dev/null
	@trap 'docker rm --force weft-image >/dev/null' EXIT; sleep 20; \
		docker exec weft-image python lab.py --healthy

update:  ## Bring the course up to date; what you wrote in the labs is kept
	@$(python) update.py

vendor: author  ## Fetch the book's scripts from npm into book/vendor
	@$(venv) book/fetch_vendor.py
	@$(venv) book/bundle_d3.py
	@$(venv) book/bundle_editor.py

author:
	@$(python) install.py --dev
