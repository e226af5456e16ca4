package launcher

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// mapped describes the ranks' map in a line, "" if there is none.
func (p *Plan) mapped() string {
	m := p.placed.Mapped
	if m == nil {
		return ""
	}
	text := fmt.Sprintf("by %s: %s", p.rules.wish.Graph.From, m.Name)
	if best := m.Figures[0]; change(best.Default, best.Map) != "" {
		text += fmt.Sprintf(", %s %s to the default order", best.Name, change(best.Default, best.Map))
	}
	return text
}

// writeMap writes the ranks' map, and the gain by it.
func (b *planText) writeMap() {
	w, m := &b.plan.rules.wish, b.plan.placed.Mapped
	if m == nil {
		return
	}
	fmt.Fprintf(b, "map    by %s: %s\n", w.Graph.From, m.Name)
	const row = "       %-20s  %15s  %15s  %s"
	line := func(words ...any) { b.WriteString(strings.TrimRight(fmt.Sprintf(row, words...), " ") + "\n") }
	line("", "default order", "this map", "")
	for _, f := range m.Figures {
		line(f.Name, number(f.Default), number(f.Map), change(f.Default, f.Map))
	}
}

// number renders a sum of weights.
func number(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// change renders a change such as "-12.5%", "" if there is nothing to compare with.
func change(before, after float64) string {
	if before == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", 100*(after/before-1))
}
