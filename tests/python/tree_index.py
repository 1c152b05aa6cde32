"""A small tree index, written and asked; runs on Paddle 2.6.2 too, where the values in test_tools.py come from."""
import os
import struct
import sys
import tempfile


def write(path, pb):
    """Height 4, branch 2, 6 leaves (ids 10 .. 15) at codes 7 .. 12."""
    nodes = {0: (1, False), 1: (2, False), 2: (3, False), 3: (4, False), 4: (5, False), 5: (6, False)}
    nodes.update({7 + i: (10 + i, True) for i in range(6)})
    with open(path, "wb") as target:
        for code, (id, leaf) in nodes.items():
            node, item = pb.IndexNode(), pb.KVItem()
            node.id, node.is_leaf, node.probability = id, leaf, 0.25 * code
            item.key, item.value = str(code).encode(), node.SerializeToString()
            target.write(struct.pack("i", len(item.SerializeToString())) + item.SerializeToString())
        meta, item = pb.TreeMeta(), pb.KVItem()
        meta.height, meta.branch = 4, 2
        item.key, item.value = b".tree_meta", meta.SerializeToString()
        target.write(struct.pack("i", len(item.SerializeToString())) + item.SerializeToString())


def ask(path, TreeIndex):
    tree = TreeIndex("demo", path)
    tree.init_layerwise_sampler([1, 1, 3], start_sample_layer=1, seed=3)
    return {
        "sizes": [tree.height(), tree.branch(), tree.total_node_nums(), tree.emb_size()],
        "leafs": sorted((n.id(), n.is_leaf(), n.probability()) for n in tree.get_all_leafs()),
        "nodes": [n.id() for n in tree.get_nodes([0, 6, 8, 100])],
        "layers": [tree.get_layer_codes(level) for level in range(4)],
        "travel": [tree.get_travel_codes(12), tree.get_travel_codes(15, 2)],
        "ancestors": [tree.get_ancestor_codes([10, 15, 99], level) for level in (0, 1, 2, 3)],
        "children": [tree.get_children_codes(0, 2), tree.get_children_codes(1, 3), tree.get_children_codes(2, 3)],
        "path": tree.get_travel_path(12, 0),
        "pi": sorted(tree.get_pi_relation([10, 13], 1).items()),
        "sample": tree.layerwise_sample([[10, 12], [13, 99]], [11, 14], with_hierarchy=True),
        "more": tree.layerwise_sample([[1]], [15]),
    }


if __name__ == "__main__":
    import numpy  # noqa: F401 (before paddle)
    from paddle.distributed.fleet.dataset import TreeIndex
    from paddle.distributed.fleet.proto import index_dataset_pb2
    where = os.path.join(tempfile.mkdtemp(), "tree.pb")
    write(where, index_dataset_pb2)
    with open(where, "rb") as source:
        data = source.read()
    got = dict(ask(where, TreeIndex), bytes=len(data), crc=sum(data))
    sys.stdout.write("".join("    %r: %r,\n" % item for item in sorted(got.items())))
