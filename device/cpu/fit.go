package cpu

import "math/bits"

// Keys of real data are seldom spread evenly over their range: half of the 64-bit floats between 0 and 1 lie in a
// thousandth of the bit patterns between them. Buckets of equal width would mostly be too large there, and would have to
// be cut again, in one more pass over memory. So where a sample says that, the range is cut into cells of equal width, and
// each cell into buckets of its own width, or several cells share a bucket. For floats a cell is about a binade, in which
// most distributions are nearly even.

// maxCells is the number of cells: their table must stay in L1 beside the heads of the buckets.
const maxCells = 2048

// cell says where the buckets of a cell are: element x above the range's low end goes to bucket base + x>>shift, modulo
// 2^32. The low half is the shift, the high half base, as scatter_amd64.s knows it.
type cell uint64

func newCell(base uint32, shift uint) cell { return cell(base)<<32 | cell(shift) }

func (c cell) bucket(x uint64) uint32 { return uint32(c>>32) + uint32(x>>(c&63)) }

// fittedBuckets cuts the elements from low to high into at most count buckets, of which each holds about as many of the
// sample as any other. REQUIRES: the sample's elements are from low to high.
func fittedBuckets[E element](sample []E, low, high E, count int, tieBits uint) buckets[E] {
	plain := newBuckets(low, high, count, tieBits)
	if count < fewestFitted || plain.shift == tieBits {
		return plain
	}
	crowd := plain.crowd(sample, count)
	if crowd <= len(sample)/16 {
		return plain
	}
	width := bits.Len64(uint64(high - plain.low))
	b := buckets[E]{low: plain.low, last: high - plain.low, shift: uint(max(int(tieBits), width-bits.Len(maxCells-1)))}
	histogram := make([]int, b.last>>b.shift+1)
	for _, e := range sample {
		histogram[(e-b.low)>>b.shift]++
	}
	// Buckets of want/2 to want elements, or two neighbours of more than that together: about as many as asked for.
	for want := 2*len(sample)/count + 1; ; want += want/4 + 1 {
		if b.fit(histogram, want, tieBits); b.count() <= count {
			break
		}
	}
	if b.crowd(sample, count) > crowd/2 {
		return plain // a few values are most of the sample: no map can part them
	}
	return b
}

// fewestFitted is the least number of buckets that are worth fitting.
const fewestFitted = 32

// crowd is how many of the sample are in buckets that hold several times their share.
func (b buckets[E]) crowd(sample []E, count int) int {
	held := make([]int, b.count())
	for _, e := range sample {
		held[b.of(e)]++
	}
	crowd, share := 0, len(sample)/count+1
	for _, n := range held {
		if n > 3*share {
			crowd += n
		}
	}
	return crowd
}

// fit cuts each cell into buckets of about want elements of the histogram at most, and lets cells of few share one.
func (b *buckets[E]) fit(histogram []int, want int, tieBits uint) {
	b.cells, b.first = b.cells[:0], b.first[:0]
	shared := 0 // elements in the last bucket, if further cells may join it
	for i, n := range histogram {
		start := E(i) << b.shift
		if n <= want {
			if i == 0 || shared+n > want {
				b.first, shared = append(b.first, start), 0
			}
			shared += n
			b.addCell(uint32(len(b.first)-1), start, lastBit[E]())
			continue
		}
		shift := b.shift - min(uint(bits.Len(uint((n-1)/want))), b.shift-tieBits)
		b.addCell(uint32(len(b.first)), start, shift)
		for at := start; ; at += E(1) << shift {
			b.first = append(b.first, at)
			if at>>b.shift != (at+E(1)<<shift)>>b.shift || b.last-at < E(1)<<shift {
				break
			}
		}
		shared = want + 1 // the last of them is full
	}
}

// addCell adds the cell from start on, whose first bucket is given.
func (b *buckets[E]) addCell(bucket uint32, start E, shift uint) {
	b.cells = append(b.cells, newCell(bucket-uint32(start>>shift), shift))
}
