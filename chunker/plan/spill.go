package plan

import (
	"fmt"
	"strings"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

const (
	// SpillAlign is the alignment of blocks in a spill file: a page, so that releasing a block
	// frees all of its pages.
	SpillAlign = 4096

	// DiskBytesPerSecond is the assumed rate at which temporary data is written to a disk and read
	// back by all workers: that of a mid-range NVMe disk. A compressed block is smaller, which
	// saves time at this rate twice: once to write it and once to read it back.
	DiskBytesPerSecond = 1.5e9
)

// ChoosesCodec reports whether the codec for temporary data is chosen by trials.
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

// alwaysPacks reports whether the codec of that name packs all blocks, even if this saves nothing.
func alwaysPacks(name string) bool {
	c, ok := format.ParseBlockCompression(name)
	return ok && c.Packs()
}

// spillCodecMemory returns an upper bound of the bytes that the codec of that name needs to
// compress or decompress a number of blocks at the same time.
func spillCodecMemory(name string, atOnce, blockBytes int) int64 {
	most := int64(0)
	for _, c := range SpillCodecs(name) {
		most = max(most, format.BlockMemory(c, atOnce, blockBytes))
	}
	return most
}

// A RoomError is the error of temporary directories that have too little room. A retry may succeed
// later, or in another directory.
type RoomError struct {
	Free   int64 // bytes that the temporary files may use
	Needed int64 // bytes of temporary files, at least

	text string
}

func (e *RoomError) Error() string { return e.text }

// NewRoomError returns the error of temporary directories whose disks have too little room. output is the
// size of an output on the same disk, or 0.
func NewRoomError(folders []string, least, free, output int64, kept bool) error {
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
