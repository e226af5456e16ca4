package partition

// heap has vertices, that of the greatest gain on top; of equal ones that with the
// lowest number.
type heap struct {
	gain []int64 // the caller's
	list []int32
	at   []int32 // of each vertex in list, plus 1; 0 if it is not there
}

func newHeap(gain []int64) *heap { return &heap{gain: gain, at: make([]int32, len(gain))} }

func (h *heap) empty() bool      { return len(h.list) == 0 }
func (h *heap) top() int32       { return h.list[0] }
func (h *heap) has(v int32) bool { return h.at[v] != 0 }
func (h *heap) less(a, b int32) bool {
	return h.gain[a] > h.gain[b] || h.gain[a] == h.gain[b] && a < b
}

// push adds v, or puts it in its place after its gain has changed.
func (h *heap) push(v int32) {
	if !h.has(v) {
		h.list = append(h.list, v)
		h.at[v] = int32(len(h.list))
	}
	h.down(h.up(int(h.at[v]) - 1))
}

func (h *heap) pop() int32 {
	v := h.list[0]
	h.remove(v)
	return v
}

func (h *heap) remove(v int32) {
	i := int(h.at[v]) - 1
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	h.at[v] = 0
	if last != v {
		h.list[i], h.at[last] = last, int32(i)+1
		h.down(h.up(i))
	}
}

func (h *heap) clear() {
	for _, v := range h.list {
		h.at[v] = 0
	}
	h.list = h.list[:0]
}

func (h *heap) up(i int) int {
	v := h.list[i]
	for i > 0 {
		p := (i - 1) / 2
		if !h.less(v, h.list[p]) {
			break
		}
		h.list[i], h.at[h.list[p]] = h.list[p], int32(i)+1
		i = p
	}
	h.list[i], h.at[v] = v, int32(i)+1
	return i
}

func (h *heap) down(i int) {
	v := h.list[i]
	for 2*i+1 < len(h.list) {
		k := 2*i + 1
		if k+1 < len(h.list) && h.less(h.list[k+1], h.list[k]) {
			k++
		}
		if !h.less(h.list[k], v) {
			break
		}
		h.list[i], h.at[h.list[k]] = h.list[k], int32(i)+1
		i = k
	}
	h.list[i], h.at[v] = v, int32(i)+1
}
