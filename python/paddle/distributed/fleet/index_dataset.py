"""TreeIndex: the tree of a tree-based recall model (TDM, JTM), read from the file that a tree builder wrote."""
import struct

from paddle import _names
from paddle.distributed.fleet.proto import index_dataset_pb2


class IndexNode(object):
    """A node: id(), is_leaf(), probability()."""

    __slots__ = ("_id", "_is_leaf", "_probability")

    def __init__(self, id=0, is_leaf=False, probability=0.0):
        self._id, self._is_leaf, self._probability = id, is_leaf, probability

    def id(self):
        return self._id

    def is_leaf(self):
        return self._is_leaf

    def probability(self):
        return self._probability


def _read_items(path):
    """(key, value) of each item: a length (int32), then a KVItem."""
    with open(path, "rb") as source:
        count = 0
        while True:
            head = source.read(4)
            if not head:
                return
            size = struct.unpack("<i", head)[0] if len(head) == 4 else -1
            if size == 0:
                return
            data = source.read(max(size, 0))
            item = index_dataset_pb2.KVItem()
            try:
                if size < 0 or len(data) != size:
                    raise ValueError("it should have %d bytes, but has %d" % (size, len(data)))
                item.ParseFromString(data)
            except ValueError as error:
                raise ValueError("TreeIndex: %s, item %d: %s; is it a file of a tree builder?" % (path, count, error))
            yield item.key, item.value
            count += 1


class Index(object):
    def __init__(self, name):
        self._name = name


class TreeIndex(Index):
    """Nodes by code: 0 is the root, the children of c are c * branch + 1 .. c * branch + branch."""

    def __init__(self, name, path):
        super(TreeIndex, self).__init__(name)
        self._nodes, self._codes = {}, {}
        self._height = self._branch = 0
        for key, value in _read_items(path):
            if key == b".tree_meta":
                meta = index_dataset_pb2.TreeMeta()
                meta.ParseFromString(value)
                self._height, self._branch = meta.height, meta.branch
                continue
            node = index_dataset_pb2.IndexNode()
            node.ParseFromString(value)
            code = int(key)
            self._nodes[code] = IndexNode(node.id, node.is_leaf, node.probability)
            if node.is_leaf:
                self._codes[node.id] = code
        if self._branch < 1 or self._height < 1:
            raise ValueError("TreeIndex: %s has no .tree_meta with height and branch" % path)
        self._max_id = max([node.id() for node in self._nodes.values()] or [0])
        self._max_code = max(self._nodes or [0]) + 1
        self._nothing = IndexNode()
        self._layerwise_sampler = None

    def height(self):
        return self._height

    def branch(self):
        return self._branch

    def total_node_nums(self):
        return len(self._nodes)

    def emb_size(self):
        """Rows of a table that has all ids."""
        return self._max_id + 1

    def get_all_leafs(self):
        return [self._nodes[code] for code in self._codes.values()]

    def get_nodes(self, codes):
        """Nodes of codes; one with id 0 where there is none."""
        return [self._nodes.get(code, self._nothing) for code in codes]

    def get_layer_codes(self, level):
        first = self._branch ** level - 1
        return [code for code in range(first, first + self._branch ** level) if code in self._nodes]

    def get_travel_codes(self, id, start_level=0):
        """From the leaf up to start_level."""
        if id not in self._codes:
            raise ValueError("TreeIndex: id = %s doesn't exist in Tree." % id)
        code, out = self._codes[id], []
        for _ in range(start_level, self._height):
            out.append(code)
            code = (code - 1) // self._branch
        return out

    def get_ancestor_codes(self, ids, level):
        """Of each leaf id its ancestor in that level; ids that are not there give the first code beyond the tree."""
        out = []
        for id in ids:
            code = self._codes.get(id)
            if code is not None and level >= 0:
                for _ in range(level, self._height - 1):
                    code = (code - 1) // self._branch
            out.append(self._max_code if code is None else code)
        return out

    def get_children_codes(self, ancestor, level):
        """The codes below ancestor in that level."""
        first, beyond = self._branch ** level - 1, self._branch ** (level + 1) - 1
        row = [ancestor]
        while row and not first <= row[0] < beyond:
            row = [code for parent in row for code in range(parent * self._branch + 1, (parent + 1) * self._branch + 1)
                   if code in self._nodes]
        return row

    def get_travel_path(self, child, ancestor):
        """Codes from child up, ancestor left out."""
        out = []
        while child > ancestor:
            out.append(child)
            child = (child - 1) // self._branch
        return out

    def get_pi_relation(self, ids, level):
        """{leaf id: its ancestor's code in that level}"""
        return dict(zip(ids, self.get_ancestor_codes(ids, level)))

    def init_layerwise_sampler(self, layer_sample_counts, start_sample_layer=1, seed=0):
        """How many nodes layerwise_sample draws in each layer, from start_sample_layer down."""
        if self._layerwise_sampler is not None:
            raise AssertionError("TreeIndex: init_layerwise_sampler was called before")
        self._layerwise_sampler = LayerwiseSampler(self, layer_sample_counts, start_sample_layer, seed)

    def layerwise_sample(self, user_input, index_input, with_hierarchy=False):
        """For each id of index_input and each node on its path: that node with label 1, and others of its layer with 0; rows
        [user features..., node, label]. with_hierarchy: above the leaves users' features are ancestors too."""
        if self._layerwise_sampler is None:
            raise ValueError("please init layerwise_sampler first.")
        return self._layerwise_sampler.sample(user_input, index_input, with_hierarchy)


class Engine(object):
    """std::mt19937_64, and uniform numbers as libstdc++ draws them."""

    MASK = (1 << 64) - 1

    def __init__(self, seed):
        state = [seed & self.MASK]
        for i in range(1, 312):
            state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & self.MASK)
        self._state, self._at = state, 312

    def _refill(self):
        s = self._state
        for i in range(312):
            x = (s[i] & 0xFFFFFFFF80000000) | (s[(i + 1) % 312] & 0x7FFFFFFF)
            s[i] = s[(i + 156) % 312] ^ (x >> 1) ^ (0xB5026F5AA96619E9 if x & 1 else 0)
        self._at = 0

    def next(self):
        if self._at == 312:
            self._refill()
        x = self._state[self._at]
        self._at += 1
        x ^= x >> 29 & 0x5555555555555555
        x ^= x << 17 & 0x71D67FFFEDA60000
        x ^= x << 37 & 0xFFF7EEE000000000
        return x ^ x >> 43

    def below(self, count):
        """Uniform in [0, count)."""
        part = self.MASK // count
        while True:
            value = self.next()
            if value < part * count:
                return value // part


class LayerwiseSampler(object):
    def __init__(self, tree, counts, start_layer, seed):
        import random
        if not 0 < start_layer < tree.height():
            raise ValueError("TreeIndex: start_sample_layer is %d, it should be greater than 0 and less than the height %d" %
                             (start_layer, tree.height()))
        self._tree, self._start = tree, start_layer
        self._layers = []
        for at, level in enumerate(range(start_layer, tree.height())):
            ids = [node.id() for node in tree.get_nodes(tree.get_layer_codes(level))]
            count = int(counts[at]) if at < len(counts) else 1
            if count and len(set(ids)) < 2:
                raise ValueError("TreeIndex: layer %d has %d nodes, too few to draw %d others" % (level, len(ids), count))
            self._layers.insert(0, (ids, count, Engine(int(seed) or random.getrandbits(32))))

    def sample(self, user_input, index_input, with_hierarchy):
        out = []
        for users, target in zip(user_input, index_input):
            path = self._tree.get_nodes(self._tree.get_travel_codes(target, self._start))
            for step, (node, (ids, count, engine)) in enumerate(zip(path, self._layers)):
                row = list(users)
                if step and with_hierarchy:
                    level = self._tree.height() - step - 1
                    row = [above.id() for above in self._tree.get_nodes(self._tree.get_ancestor_codes(users, level))]
                out.append(row + [node.id(), 1])
                for _ in range(count):
                    drawn = ids[engine.below(len(ids))]
                    while drawn == node.id():
                        drawn = ids[engine.below(len(ids))]
                    out.append(row + [drawn, 0])
        return out


__getattr__ = _names.guard(__name__)
