package plan

import (
	"fmt"
	"strings"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

const (
	// SpillAlign is the alignment of blocks in a spill file: a page, so that releasing a block frees all of its
	// pages.
	SpillAlign = 4096

	// DiskBytesPerSecond is how fast spill is written and read back when it does not stay in memory: an NVMe
	// disk of the middle class, each way, by all workers together. A block that is compressed saves its
	// difference twice.
	DiskBytesPerSecond = 1.5e9
)

// ChoosesCodec reports whether a spill codec of that name leaves the choice to trials.
func ChoosesCodec(name string) bool { return name == "" || name == "auto" }

// SpillCodecNames returns the names of the spill codecs.
func SpillCodecNames() []string {
	return append([]string{"auto", format.None.String()}, format.BlockCompressions()...)
}

// SpillCodecs returns the compressions that a spill codec of that name may choose from.
func SpillCodecs(name string) []format.Compression {
	if ChoosesCodec(name) {
		return format.TrialCompressions()
	}
	if c, ok := format.ParseBlockCompression(name); ok {
		return []format.Compression{c}
	}
	return nil
}

// alwaysPacks reports whether the spill codec of that name packs all blocks, whether that pays or not.
func alwaysPacks(name string) bool {
	c, ok := format.ParseBlockCompression(name)
	return ok && c.Packs()
}

// spillCodecMemory is an upper estimate, in bytes, of what the codec of that name takes for blocks of
// blockBytes that are compressed or decompressed at the same time.
func spillCodecMemory(name string, atOnce, blockBytes int) int64 {
	most := int64(0)
	for _, c := range SpillCodecs(name) {
		most = max(most, format.BlockMemory(c, atOnce, blockBytes))
	}
	return most
}

// RoomError says that temporary directories have too little room: there may be more at another time, or
// elsewhere.
type RoomError struct {
	Free   int64 // bytes that the temporary files may use
	Needed int64 // bytes of temporary files, at least

	text string
}

func (e *RoomError) Error() string { return e.text }

// NoRoom returns the error of temporary directories whose disks have too little room. output is the size of an
// output on the same disk, or 0.
func NoRoom(folders []string, least, free, output int64, kept bool) error {
	beside, advice := "", fmt.Sprintf("name another or several with %v", option.TempDirs)
	if output > 0 {
		beside = fmt.Sprintf(" and %s for the output on the same disk", human.Bytes(output))
	}
	if kept {
		advice = fmt.Sprintf("free some space, or name another with %v", option.Checkpoint)
	}
	text := fmt.Sprintf("temporary directory %s: the sort needs at least %s%s, but only %s is free (%s)",
		strings.Join(folders, ", "), human.Bytes(least), beside, human.Bytes(free), advice)
	return &RoomError{Free: free, Needed: least + output, text: text}
}
