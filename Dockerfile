# The course in a container: for one learner, as a dev container, on Binder or a
# JupyterHub, and for grading people whom you do not trust (book/teaching.md).
#
#   docker build -t weft .                              kernels run in the simulator
#   docker build -t weft --build-arg VARIANT=cu13 .     or cu12: for a GPU
#   docker run --rm --init -p 127.0.0.1:8888:8888 weft  with a GPU: --gpus all
#
# Both variants have the same base image: the CUDA libraries are Python packages, which
# install.py chooses, and the driver comes from the host.

ARG PYTHON=3.13
FROM python:${PYTHON}-slim-bookworm AS system

# Labs 4 and 5 need compilers and a debugger. Triton needs a compiler and Python's headers,
# which this Python brings.
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ gcc gdb git libc6-dev make \
    && rm -rf /var/lib/apt/lists/*

# Binder sets these two.
ARG NB_USER=jovyan
ARG NB_UID=1000
RUN useradd --create-home --no-log-init --shell /bin/bash --uid "${NB_UID}" "${NB_USER}" \
    && install --directory --owner "${NB_USER}" /opt/warp-and-weft

ENV LANG=C.UTF-8 \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    NVIDIA_VISIBLE_DEVICES=all \
    SHELL=/bin/bash
USER ${NB_USER}


FROM system AS course

ARG NB_USER=jovyan
ARG VARIANT=cpu
ARG PIP_INDEX_URL
ARG TORCH_INDEX
ENV PATH=/opt/warp-and-weft/.venv/bin:$PATH \
    WEFT_HOME=/home/${NB_USER}/.weft

# The packages have a layer of their own, which only a new pin rebuilds.
WORKDIR /opt/warp-and-weft
COPY --chown=${NB_USER} install.py requirements-learner.txt requirements.txt \
    requirements-hub.txt constraints.txt ./
COPY --chown=${NB_USER} installing installing/
RUN PIP_NO_CACHE_DIR=1 python3 install.py \
    && pip install --no-cache-dir --only-binary=:all: \
        -c constraints.txt -r requirements-hub.txt triton

COPY --chown=${NB_USER} . ./

EXPOSE 8888
HEALTHCHECK --interval=60s --timeout=30s --start-period=60s \
    CMD ["python", "lab.py", "--healthy"]
CMD ["python", "lab.py", "--ip", "0.0.0.0"]
