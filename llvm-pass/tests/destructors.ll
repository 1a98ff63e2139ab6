; Destructors become records, as constructors do; variables of the C++ library stay where they are.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

$_ZNSt7num_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE2idE = comdat any
$_ZN5TableIiE7entriesE = comdat any

; CHECK: @_ZNSt7num_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE2idE = linkonce_odr global i64 0, comdat, align 8{{$}}
@_ZNSt7num_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE2idE = linkonce_odr global i64 0, comdat, align 8
; CHECK: @_ZN5TableIiE7entriesE = linkonce_odr global i64 0, comdat, align 8 #[[SHARED:[0-9]+]]
@_ZN5TableIiE7entriesE = linkonce_odr global i64 0, comdat, align 8
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @end, ptr null }]
; CHECK-NOT: global_dtors
; CHECK: @__dsm_dtor.0 = internal constant { i64, ptr } { i64 65535, ptr @end }, section ".dsm.dtors", align 8
; CHECK: attributes #[[SHARED]] = { "bss-section"=".dsm.bss" "data-section"=".dsm.data" }
define internal void @end() {
  ret void
}
