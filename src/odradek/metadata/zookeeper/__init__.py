"""ZooKeeper as the metadata store: sessions of its protocol, without I/O. Needs the package `kazoo`.

- `ensemble`: what `zookeeper.connect` names, and the limits of a request.
- `codec`: requests and replies of one connection as bytes, by kazoo's serializers.
- `session`: a `MetadataStore` over connections that may break.
"""
