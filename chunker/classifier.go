package chunker

import (
	"math"
	"math/bits"
	"slices"
)

// A Classifier assigns keys to partitions: partition p gets the keys from its splitter (inclusive)
// to the next one (exclusive). Partitions are in the order of their keys.
//
// Usually the leading digits of a key, counted from the smallest key of the sample, index a table
// of partitions, so that a key costs one load. The digit is the most significant one (MSD) that
// spreads these keys. If the keys are skewed, a single value of this digit may exceed the share
// of a partition. In that case the splitters are taken directly from the sample (sample sort:
// Frazer and McKellar 1970) and found with a search tree.
type Classifier struct {
	smallestKey uint64 // smallest key of the sample; smaller keys go to partition 0
	shift       uint   // digit = (key − least) >> shift
	table       []uint16

	splitters []uint64 // of partitions 1, 2, …; used if table is nil
	tree      []uint64 // search tree of the splitters; used if table is nil

	Partitions int
}

const (
	digitTableBits = 12      // a table of 8 KiB stays in the first-level cache
	maxPartitions  = 1 << 14 // the table stores partition numbers as uint16
)

// NewClassifier divides the range of the sorted sample into about the given number of partitions
// with about the same number of records each. It makes at most 1.5 times the requested number of
// partitions. A key that alone reaches the share of a partition gets its own partition.
func NewClassifier(sorted []uint64, partitions int) *Classifier {
	partitions = max(1, min(partitions, maxPartitions, len(sorted)))
	c := &Classifier{Partitions: 1}
	if partitions == 1 {
		return c
	}
	c.splitters = splittersOf(sorted, partitions)
	c.Partitions = len(c.splitters) + 1
	if c.useDigits(sorted, partitions); c.table == nil {
		c.buildTree()
	}
	return c
}

// splittersOf returns the keys at the borders of the partitions. It isolates up to partitions/2
// frequent keys with an additional splitter.
func splittersOf(sorted []uint64, partitions int) []uint64 {
	share := max(len(sorted)/partitions, 2)
	var splitters []uint64
	isolated := 0

	for p := 1; p < partitions; p++ {
		key := sorted[p*len(sorted)/partitions]
		if key == sorted[(p-1)*len(sorted)/partitions] && p > 1 {
			continue
		}
		splitters = append(splitters, key)
		if isolated < partitions/2 && key+1 != 0 &&
			countEqual(sorted, key) >= share {
			splitters = append(splitters, key+1) // an equality bucket
			isolated++
		}
	}

	splitters = slices.Compact(splitters)
	if len(splitters) > 0 && splitters[0] == 0 {
		splitters = splitters[1:] // no key is below it
	}
	return splitters
}

// countEqual returns how often key occurs in sorted. REQUIRES: key+1 does not overflow
func countEqual(sorted []uint64, key uint64) int {
	from, _ := slices.BinarySearch(sorted, key)
	to, _ := slices.BinarySearch(sorted[from:], key+1)
	return to
}

// useDigits replaces the splitters with a table of digits if the resulting partitions are almost as
// even.
func (c *Classifier) useDigits(sorted []uint64, partitions int) {
	least := sorted[0]
	greatest := sorted[len(sorted)-1]
	shift := uint(max(0, bits.Len64(greatest-least)-digitTableBits))
	counts := make([]int, 1<<digitTableBits)

	for _, key := range sorted {
		counts[(key-least)>>shift]++
	}
	share := float64(len(sorted)) / float64(partitions)
	table := make([]uint16, len(counts))
	partition := 0
	filled := 0

	for digit, n := range counts {
		if float64(filled) >= share*(1-digitSlack) ||
			filled > 0 && float64(filled+n) > share*(1+digitSlack) {
			partition += 1
			filled = 0
		}
		if float64(n) > share*(1+digitSlack) ||
			partition >= partitions+partitions/2 {
			return
		}
		table[digit] = uint16(partition)
		filled += n
	}

	c.smallestKey = least
	c.shift = shift
	c.table = table
	c.Partitions = partition + 1
}

// digitSlack is the fraction by which a partition may exceed its share if that allows a table.
const digitSlack = 0.05

// Classify sets partitions[i] to the partition of keys[i].
func (c *Classifier) Classify(partitions []uint32, keys []uint64) {
	switch {
	case c.table != nil:
		c.classifyByDigit(partitions, keys)
	case len(c.splitters) == 0:
		clear(partitions[:len(keys)])
	default:
		c.classifyBySplitter(partitions, keys)
	}
}

func (c *Classifier) classifyByDigit(partitions []uint32, keys []uint64) {
	table := c.table[:1<<digitTableBits]
	least := c.smallestKey
	shift := c.shift & 63
	partitions = partitions[:len(keys)]
	for i, key := range keys {
		partitions[i] = uint32(
			table[min((max(key, least)-least)>>shift, 1<<digitTableBits-1)],
		)
	}
}

// classifyBySplitter counts the splitters less than or equal to each key, by descending the tree
// without branches. Eight keys descend together, so that each waits only for its own loads.
func (c *Classifier) classifyBySplitter(partitions []uint32, keys []uint64) {
	partitions = partitions[:len(keys)]
	tree, leaves, last := c.tree, uint32(len(c.tree)), uint32(len(c.splitters))
	levels := bits.Len(uint(len(c.splitters)))
	for ; len(keys) >= 8; keys, partitions = keys[8:], partitions[8:] {
		k := (*[8]uint64)(keys)
		i0 := uint64(1)
		i1 := uint64(1)
		i2 := uint64(1)
		i3 := uint64(1)
		i4 := i0
		i5 := i1
		i6 := i2
		i7 := i3
		for range levels {
			i0 = descend(tree, i0, k[0])
			i1 = descend(tree, i1, k[1])
			i2 = descend(tree, i2, k[2])
			i3 = descend(tree, i3, k[3])
			i4 = descend(tree, i4, k[4])
			i5 = descend(tree, i5, k[5])
			i6 = descend(tree, i6, k[6])
			i7 = descend(tree, i7, k[7])
		}
		p := (*[8]uint32)(partitions)
		p[0] = min(uint32(i0)-leaves, last)
		p[1] = min(uint32(i1)-leaves, last)
		p[2] = min(uint32(i2)-leaves, last)
		p[3] = min(uint32(i3)-leaves, last)
		p[4] = min(uint32(i4)-leaves, last)
		p[5] = min(uint32(i5)-leaves, last)
		p[6] = min(uint32(i6)-leaves, last)
		p[7] = min(uint32(i7)-leaves, last)
	}
	for n, key := range keys {
		i := uint64(1)
		for range levels {
			i = descend(tree, i, key)
		}
		partitions[n] = min(uint32(i)-leaves, last)
	}
}

// descend returns the left child of node i if the key is below the node, otherwise the right
// child.
func descend(tree []uint64, i, key uint64) uint64 {
	_, below := bits.Sub64(key, tree[i], 0)
	return 2*i + 1 - below
}

// buildTree builds the search tree of the splitters: node i has the children 2i and 2i+1 (Sanders
// and Winkel 2004). Nodes without a splitter contain the greatest key.
func (c *Classifier) buildTree() {
	levels := bits.Len(uint(len(c.splitters)))
	c.tree = slices.Repeat([]uint64{math.MaxUint64}, 1<<levels)
	for i := 1; i < len(c.tree); i++ {
		// The left subtree of node i has 1<<below − 1 nodes.
		below := levels - bits.Len(uint(i))
		inOrder := (2*i+1)<<below - 1<<levels - 1
		if inOrder < len(c.splitters) {
			c.tree[i] = c.splitters[inOrder]
		}
	}
}
