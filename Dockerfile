# One image for every process of Prefine. docs/deployment.md describes the build arguments.
ARG BASE=debian:trixie-20260918-slim@sha256:a99cfc517144bc59b1978475ec53b46ecabec7e43635402ee5b77cc54cd1b20a

# hadolint ignore=DL3006
FROM ${BASE} AS base
ENV PREFINE_VENV=/opt/venv
WORKDIR /opt/prefine
# Debian keeps only the newest version of a package, so a version named here would soon be gone.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates g++ libegl1 libgl1-mesa-dri libopengl0 libseccomp2 postgresql-client python3 tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --home-dir /data --shell /usr/sbin/nologin prefine \
    && install -d -o prefine -g prefine -m 0700 /data /data/tmp /backups

FROM base AS packages
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
# Only what the installer reads and runs, so that an edit of the code does not install 2 GB again.
COPY prefine requirements.txt requirements-torch.txt requirements-gpu.txt ./
COPY simulation/opengl.py simulation/
# Options of pip for PyTorch, as in README.md, "Choosing a PyTorch build". Empty: the build with CUDA, which is larger.
ARG PREFINE_TORCH_ARGS=""
ARG EXTRA_REQUIREMENTS=""
ENV PIP_NO_CACHE_DIR=1
# Compiled here, because a container cannot write to the image. Some packages hold files that are no Python of today.
RUN ./prefine install \
    && if [ -n "$EXTRA_REQUIREMENTS" ]; then /opt/venv/bin/pip install -r "$EXTRA_REQUIREMENTS"; fi \
    && { /opt/venv/bin/python -m compileall -qq /opt/venv/lib || true; }

# Readable to the user of the containers, also where the checkout was made under a umask that keeps others out.
FROM base AS source
COPY . .
RUN chmod -R a+rX .

FROM base
COPY --from=packages /opt/venv /opt/venv
COPY --from=source /opt/prefine .
ENV PATH=/opt/venv/bin:$PATH \
    PREFINE_DATA=/data \
    PREFINE_STATIC=/opt/prefine-static \
    TMPDIR=/data/tmp \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
RUN PREFINE_DATA=/tmp/build python manage.py collectstatic --no-input --verbosity 0 \
    && rm -rf /tmp/build \
    && env -u PYTHONDONTWRITEBYTECODE python -m compileall -q . \
    && python -m simulation.opengl
USER 10001:10001
EXPOSE 8000
ARG VERSION=dev
LABEL org.opencontainers.image.title="Prefine" \
    org.opencontainers.image.description="People watch robots and thereby design their rewards." \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}"
ENTRYPOINT ["tini", "--"]
CMD ["python", "-m", "webapp.web_server", "--host", "0.0.0.0", "--port", "8000"]
