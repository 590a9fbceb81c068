//go:build opencl && cgo && linux

package algo

import "github.com/extsort/extsort/device/opencl/cl"

// scanner makes exclusive scans of tables on the device, see scan.cl.
type scanner struct {
	geometry                     geometry
	groups                       int64
	single, sums, sections, rows *cl.Kernel
}

// scanSingle is the longest table that one work-group scans alone.
const scanSingle = 1 << 16

func buildScanner(b *builder) *scanner {
	g := geometry{groupSize: min(256, b.ctx.Device().MaxGroup), items: 1, digitBits: 1}
	p := b.program(g, nil, "scan")
	return &scanner{
		geometry: g, groups: min(sections(b.ctx.Device(), 8), scanSingle),
		single: p.kernel("scan_single"), sums: p.kernel("scan_sums"),
		sections: p.kernel("scan_sections"), rows: p.kernel("scan_rows"),
	}
}

// scan scans a table of any length in place.
func (s *scanner) scan(r *run, table *cl.Buffer, length int64) {
	size := s.geometry.groupSize
	if length <= scanSingle {
		r.launch(s.single, 1, size, table, uint64(length))
		return
	}
	sums := r.buffer("sums", r.v.offsetBytes()*s.groups)
	r.launch(s.sums, s.groups, size, table, sums, uint64(length))
	r.launch(s.single, 1, size, sums, uint64(s.groups))
	r.launch(s.sections, s.groups, size, table, sums, uint64(length))
}

// scanRows scans each of the rows of a table, row i from where bases[first+i] says.
func (s *scanner) scanRows(r *run, table, bases *cl.Buffer, first, rows, length int64) {
	r.launch(s.rows, rows, s.geometry.groupSize, table, bases, uint64(first), uint64(length))
}
