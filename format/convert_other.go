//go:build !amd64

package format

func (k *Keyer) vectorKeys([]uint64, []byte) (done int) { return 0 }

func (k *Keyer) vectorRecords([]byte, []uint64) (done int) { return 0 }

func (k *Keyer) vectorKeys32([]uint32, []byte) (done int) { return 0 }

func (k *Keyer) vectorRecords32([]byte, []uint32) (done int) { return 0 }
