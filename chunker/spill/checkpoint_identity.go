package spill

import (
	"strings"

	"github.com/extsort/extsort/internal/option"
)

// An Identity distinguishes a sort from others. It consists of pairs of a name and a value.
type Identity [][2]string

// A keptIdentity is an Identity whose strings may contain any bytes, because some of them are
// file names.
type keptIdentity [][2]RawName

// Identify returns an error if the checkpoint belongs to another sort. If the output is complete,
// it does not compare the last item, which describes all inputs, because the output may have
// replaced one of them.
func (c *Checkpoint) Identify(now Identity, output string) error {
	id := newKeptIdentity(now)
	was := c.manifest.Identity
	err := c.findComplete(output)
	if err == nil && c.complete {
		id = id[:len(id)-1]
	}
	for i := range min(len(was), len(id)) {
		isReplaced := c.complete && strings.HasSuffix(now[i][1], " of "+c.manifest.Complete)
		if was[i] != id[i] && !isReplaced {
			c.complete = false
			return atCheckpoint(c.folder, c.otherSort(was[i], id[i]))
		}
	}

	if was == nil && err == nil && c.manifest.writable() {
		err = c.updateManifest(func(next *content) { next.Identity = id })
	}
	return atCheckpoint(c.folder, err)
}

// otherSort returns the error for an item of the identity that has changed.
func (c *Checkpoint) otherSort(was, is [2]RawName) error {
	left := ""
	if c.manifest.Output != nil {
		left = "; its unfinished output is " + string(c.manifest.Output.Name)
	}
	return errUnusable("it belongs to another sort: %v was %s and is now %s%s", option.Field(was[0]), was[1], is[1], left)
}

func newKeptIdentity(id Identity) (kept keptIdentity) {
	for _, pair := range id {
		kept = append(kept, [2]RawName{RawName(pair[0]), RawName(pair[1])})
	}
	return kept
}
