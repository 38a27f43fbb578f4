# Ottla as an image: docker build -t ottla . && docker run --rm -p 127.0.0.1:9092:9092 ottla
#
#   configuration   /etc/ottla/server.properties: mount another in its place (OTTLA_CONFIG names it)
#   single keys     -e KAFKA_NUM_PARTITIONS=3, by the rules of apache/kafka
#   data            /var/lib/ottla, a volume; formatted at the first start, for a node of several
#                   with the cluster id in OTTLA_CLUSTER_ID or CLUSTER_ID
#
# docs/docker.md describes the image. tests/packaging/test_image.py runs every step as a plain command.

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
COPY conf/server.properties conf/server.properties
RUN /opt/ottla/bin/pip install --no-cache-dir .

FROM python:3.12-slim
COPY --from=build /opt/ottla /opt/ottla
COPY conf/docker/server.properties /etc/ottla/server.properties
# The scripts of apache/kafka, also in the folder where testcontainers' modules for confluentinc/cp-kafka
# look for them. These modules change the scripts, so the user owns the folder.
COPY conf/docker/scripts /etc/kafka/docker
RUN mkdir -p /etc/kafka/secrets /etc/confluent && ln -s /etc/kafka/docker /etc/confluent/docker \
    && ln -s /etc/kafka/docker/kafka-storage /opt/ottla/bin/kafka-storage \
    && chown -R 1000:0 /etc/kafka && chmod -R g=u /etc/kafka
# A number, not a name: the user needs no account, and runAsNonRoot of Kubernetes can check it.
RUN mkdir -p /var/lib/ottla/data /var/lib/kafka/data && chown -R 1000:1000 /var/lib/ottla /var/lib/kafka
ENV PATH=/opt/ottla/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OTTLA_CONFIG=/etc/ottla/server.properties
USER 1000:1000
WORKDIR /var/lib/ottla
VOLUME /var/lib/ottla
EXPOSE 9092
# Asks /ready of the node in a shell: a few milliseconds, where `ottla status` starts a Python.
HEALTHCHECK --interval=5s --timeout=10s --start-period=60s --retries=3 \
    CMD ["/etc/kafka/docker/health"]
ENTRYPOINT ["/etc/kafka/docker/entrypoint"]
CMD ["serve"]
