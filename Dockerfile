# Ottla as an image: docker build -t ottla . && docker run --rm -p 9092:9092 ottla
#
#   configuration   /etc/ottla/server.properties: mount another in its place (OTTLA_CONFIG names it)
#   data            /var/lib/ottla, a volume; formatted at the first start, for a node of several
#                   with the cluster id in OTTLA_CLUSTER_ID
#   single keys     docker run ottla serve --override num.partitions=3
#
# tests/packaging/test_image.py runs every step as a plain command.

FROM python:3.12-slim AS build
WORKDIR /src
RUN python -m venv /opt/ottla
COPY pyproject.toml setup.py README.md LICENSE NOTICE ./
COPY console console
COPY simulation simulation
COPY testbed testbed
COPY command command
COPY client client
COPY ground ground
COPY log_format log_format
COPY protocol protocol
COPY storage storage
COPY controller controller
COPY broker broker
COPY ottla ottla
RUN /opt/ottla/bin/pip install --no-cache-dir .

FROM python:3.12-slim
COPY --from=build /opt/ottla /opt/ottla
COPY conf/docker/server.properties /etc/ottla/server.properties
# A number, not a name: nobody needs an account, and runAsNonRoot of Kubernetes can check it.
RUN mkdir -p /var/lib/ottla/data && chown -R 1000:1000 /var/lib/ottla
ENV PATH=/opt/ottla/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OTTLA_CONFIG=/etc/ottla/server.properties
USER 1000:1000
WORKDIR /var/lib/ottla
VOLUME /var/lib/ottla
EXPOSE 9092
# Exit code 1 is a degraded cluster: this node answers, and stopping it would not help.
HEALTHCHECK --interval=5s --timeout=10s --start-period=10s --retries=3 \
    CMD ottla status --bootstrap-server localhost:9092 > /dev/null || [ $? -eq 1 ]
ENTRYPOINT ["ottla"]
CMD ["serve"]
