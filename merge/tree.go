package merge

import (
	"math"
	"math/bits"

	"github.com/extsort/extsort/format"
)

// tree is a loser tree (Knuth, The Art of Computer Programming, volume 3, section 5.4.1: a "tree of losers" for
// replacement selection) over sorted stretches. Node 0 holds the winner; nodes 1 to k−1 hold the loser of the
// match that was played there; input i enters at leaf k+i. Taking the winner and replaying its path costs
// ⌈log2 k⌉ matches, half of what a heap needs, and always on one path that is known beforehand.
//
// A node holds the key beside the input's number, so that a match touches no other memory. The pair is compared
// as one 128-bit number, which decides ties by input and makes the merge stable; an exhausted input has the
// largest key and a number with the bit spent, so that it loses even against real keys of all ones.
type tree struct {
	keyer   *format.Keyer
	wide    bool // keys longer than their prefix: a tie of prefixes is decided by the records
	nodes   []node
	cursors []cursor
}

type node struct {
	key   uint64
	input uint64
}

const spent = 1 << 63

// cursor is where an input stands: the keys still to come begin with the one that is in the tree.
type cursor struct {
	stretch
	next int
}

func newTree(k *format.Keyer) *tree { return &tree{keyer: k, wide: k.KeySize() > 8} }

// reset makes the tree merge inputs. Empty inputs are allowed.
func (t *tree) reset(inputs []stretch) {
	k := len(inputs)
	t.nodes = append(t.nodes[:0], make([]node, k)...)
	t.cursors = t.cursors[:0]
	for _, in := range inputs {
		t.cursors = append(t.cursors, cursor{stretch: in})
	}
	t.nodes[0] = t.play(1)
}

// play plays all matches below node n, leaves the losers and returns the winner.
func (t *tree) play(n int) node {
	k := len(t.nodes)
	if n >= k {
		return t.head(uint64(n - k))
	}
	a, b := t.play(2*n), t.play(2*n+1)
	if t.less(b, a) {
		a, b = b, a
	}
	t.nodes[n] = b
	return a
}

// head is the leaf of an input: its next key.
func (t *tree) head(input uint64) node {
	c := &t.cursors[input]
	if c.next == len(c.keys) {
		return node{key: math.MaxUint64, input: input | spent}
	}
	return node{key: c.keys[c.next], input: input}
}

func (t *tree) less(a, b node) bool {
	if t.wide && a.key == b.key && (a.input|b.input) < spent {
		if c := t.keyer.Compare(t.record(a.input), t.record(b.input)); c != 0 {
			return c < 0
		}
	}
	return a.key < b.key || a.key == b.key && a.input < b.input
}

func (t *tree) record(input uint64) []byte {
	c := &t.cursors[input]
	size := len(c.recs) / len(c.keys)
	return c.recs[c.next*size : (c.next+1)*size]
}

// keysInto merges into dst the keys alone and returns how many there were. REQUIRES: keys are not wide.
func (t *tree) keysInto(dst []uint64) int {
	nodes, winner := t.nodes, t.nodes[0]
	for i := range dst {
		if winner.input >= spent {
			t.nodes[0] = winner
			return i
		}
		dst[i] = winner.key
		n := (len(nodes) + int(winner.input)) / 2
		t.cursors[winner.input].next++
		winner = replay(nodes, n, t.head(winner.input))
	}
	t.nodes[0] = winner
	return len(dst)
}

// replay plays the matches of a new candidate from node n up. The comparison yields a mask by which loser and
// candidate trade places, because a branch on random keys would be mispredicted at every other match.
func replay(nodes []node, n int, c node) node {
	for ; n > 0; n /= 2 {
		l := &nodes[n]
		_, borrow := bits.Sub64(l.input, c.input, 0)
		_, borrow = bits.Sub64(l.key, c.key, borrow)
		key, input := (l.key^c.key)&-borrow, (l.input^c.input)&-borrow
		l.key, l.input = l.key^key, l.input^input
		c.key, c.input = c.key^key, c.input^input
	}
	return c
}

// ref names a record: the input in the upper half, its index there in the lower.
type ref uint64

// refsInto merges into dst references to the records and returns how many there were.
func (t *tree) refsInto(dst []ref) int {
	for i := range dst {
		winner := t.nodes[0].input
		if winner >= spent {
			return i
		}
		dst[i] = ref(winner<<32 | uint64(t.cursors[winner].next))
		t.cursors[winner].next++
		n := (len(t.nodes) + int(winner)) / 2
		if t.wide {
			t.nodes[0] = t.replayWide(n, t.head(winner))
		} else {
			t.nodes[0] = replay(t.nodes, n, t.head(winner))
		}
	}
	return len(dst)
}

// replayWide is replay for keys of which only the prefix is in the node.
func (t *tree) replayWide(n int, c node) node {
	for ; n > 0; n /= 2 {
		l := &t.nodes[n]
		if l.key == c.key {
			if t.less(*l, c) {
				*l, c = c, *l
			}
			continue
		}
		_, borrow := bits.Sub64(l.key, c.key, 0)
		key, input := (l.key^c.key)&-borrow, (l.input^c.input)&-borrow
		l.key, l.input = l.key^key, l.input^input
		c.key, c.input = c.key^key, c.input^input
	}
	return c
}
