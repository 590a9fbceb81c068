//go:build opencl && cgo && linux

package algo

import "github.com/extsort/extsort/device/opencl/cl"

// scanner makes exclusive scans of tables on the device, see scan.cl.
type scanner struct {
	size                         int // of a work-group
	groups                       int64
	single, sums, sections, rows *cl.Kernel
}

// scanSingle is the longest table that one work-group scans alone.
const scanSingle = 1 << 16

func buildScanner(b *builder) *scanner {
	size := min(256, b.device().MaxGroup)
	kernel := b.program(geometry{groupSize: size, items: 1, digitBits: 1}, nil, "scan")
	return &scanner{size: size, groups: min(sections(b.device(), 8), scanSingle), single: kernel("scan_single"),
		sums: kernel("scan_sums"), sections: kernel("scan_sections"), rows: kernel("scan_rows")}
}

// scan scans a table of any length in place.
func (s *scanner) scan(r *run, table *cl.Buffer, length int64) {
	if length <= scanSingle {
		r.launch(s.single, 1, s.size, table, uint64(length))
		return
	}
	sums := r.offsets("sums", s.groups)
	r.launch(s.sums, s.groups, s.size, table, sums, uint64(length))
	r.launch(s.single, 1, s.size, sums, uint64(s.groups))
	r.launch(s.sections, s.groups, s.size, table, sums, uint64(length))
}

// scanRows scans each of the rows of a table, row i from where bases[first+i] says.
func (s *scanner) scanRows(r *run, table, bases *cl.Buffer, first, rows, length int64) {
	r.launch(s.rows, rows, s.size, table, bases, uint64(first), uint64(length))
}
