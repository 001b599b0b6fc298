"""The dashboard and the report of a league.

app              the dashboard's ASGI application
routes           the table of its routes, with their handlers; openapi describes them
pages, matches   the pages of the API, made from the projection; their types are in page_types and api_types
projection       the public part of a league, which follows its events; evidence_counts and rows belong to it
stream           the event stream
response_cache   responses of the API, each made once for all clients; figures_cache is the same for ratings
metrics_exporter the text of /metrics for Prometheus
success_metrics  the success metrics of the specification
report           the report as one HTML page, with charts and drawings
"""
