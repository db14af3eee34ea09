# onward serve, from the sources here. Another base, such as a mirror's, by --build-arg PYTHON_IMAGE=…
ARG PYTHON_IMAGE=docker.io/library/python:3.12-slim-bookworm

# hadolint ignore=DL3006
FROM ${PYTHON_IMAGE} AS build
WORKDIR /source
RUN python3 -m venv /opt/onward
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python3 -m venv /tmp/builder \
    && /tmp/builder/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /tmp/wheels . \
    && /opt/onward/bin/pip install --no-cache-dir "$(ls /tmp/wheels/onward-*.whl)[serve]"
# Compiled code is kept for the processor that it was compiled on; on another kind it is compiled once more, into the same place.
RUN NUMBA_CACHE_DIR=/opt/onward-cache /opt/onward/bin/onward warm-up service

# hadolint ignore=DL3006
FROM ${PYTHON_IMAGE}
RUN groupadd --system --gid 10001 onward \
    && useradd --system --uid 10001 --gid onward --home-dir /data --shell /usr/sbin/nologin onward \
    && install -d -o onward -g onward /data
COPY --from=build /opt/onward /opt/onward
COPY --from=build --chown=onward:onward /opt/onward-cache /opt/onward-cache
ENV PATH=/opt/onward/bin:$PATH \
    NUMBA_CACHE_DIR=/opt/onward-cache \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["onward"]
CMD ["serve", "--database", "sqlite:////data/log.db", "--listen", "0.0.0.0:8000"]
