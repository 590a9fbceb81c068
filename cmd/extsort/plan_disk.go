package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/session"
)

// planSpill returns the size and place of the temporary data.
func planSpill(p *session.SortPlan) string {
	folders := " in " + strings.Join(p.TempDirs, ", ")
	switch {
	case p.TempBytes == 0:
		return "none"
	case p.TempBytes < 0:
		return "all data that does not fit in memory," + folders
	}
	return human.Bytes(p.TempBytes) + folders + textIf(p.StoredBytes > 0, ", about %s when compressed",
		human.Bytes(p.StoredBytes))
}

// planOutput returns the size and place of an output file.
func planOutput(p *session.SortPlan, opt *session.Options) string {
	if !planFills(p, opt) {
		return ""
	}
	// The planner has already validated the compression.
	codec, _ := format.ParseCompression(opt.Compress, opt.Output)
	return textIf(
		opt.Unique || opt.Duplicates, "at most ",
	) + human.Bytes(p.OutputBytes) + " in " +
		textIf(
			opt.SplitFiles > 0,
			"%s named after ",
			plural(opt.SplitFiles, "file"),
		) +
		textIf(
			opt.SplitBytes > 0,
			"files of %s named after ",
			human.Bytes(opt.SplitBytes),
		) + opt.Output +
		textIf(codec != format.None, ", before compression with %s", codec)
}

// planFills reports whether the output is a file of a known size.
func planFills(p *session.SortPlan, opt *session.Options) bool {
	return opt.Output != "" && opt.Output != "-" && p.OutputBytes >= 0
}

// planDisk returns the free space that output and temporary data need if they are on one disk.
func planDisk(p *session.SortPlan, opt *session.Options) string {
	if p.TempBytes <= 0 || !planFills(p, opt) ||
		!sharesDisk(opt.Output, p.TempDirs) {
		return ""
	}
	return "needs up to " + human.Bytes(
		p.OutputBytes+p.TempBytes,
	) + " free: output and temporary data share a disk"
}

// sharesDisk reports whether the output and temporary directories are on one disk.
func sharesDisk(output string, folders []string) bool {
	disks := profile.Load()
	disk := disks.DiskOf(output)
	return slices.ContainsFunc(folders, func(folder string) bool {
		other := disks.DiskOf(folder)
		return other.Is(&disk)
	})
}

// planReplaced describes what happens to an existing output file. A device or a pipe is written
// to, not replaced.
func planReplaced(opt *session.Options) string {
	name := opt.Output
	split := opt.SplitFiles > 0 || opt.SplitBytes > 0
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || split {
		return ""
	}
	return fmt.Sprintf(
		"%s, %s, when the new file is complete: mode and, where allowed, owner, group "+
			"and ACL are kept, other attributes are not; other hard links keep the old records",
		name,
		human.Bytes(info.Size()),
	)
}

func planCheckpoint(p *session.SortPlan) string {
	c := p.Checkpoint
	if c == nil {
		return ""
	}
	part := func(done int64) float64 {
		return 100 * float64(done) / float64(max(p.Records, 1))
	}
	stage := cmp.Or(textIf(c.Records == p.Records, "merge"), "sort runs")
	return fmt.Sprintf("%s: ", c.Folder) + textIf(
		c.Runs == 0, "nothing is done yet",
	) +
		textIf(c.Runs > 0, "%s with %.0f %% of the records are done (%s)", plural(c.Runs, "run"), part(c.Records),
			human.Bytes(c.StoredBytes)) +
		textIf(
			c.Written > 0,
			"; %.0f %% of the output is written",
			part(c.Written),
		) + textIf(c.Runs > 0, "; next: %s", stage)
}
