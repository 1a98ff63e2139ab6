; Writable globals go to the shared sections; common symbols stay, declarations too.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@data = global i32 7, align 4
@zero = internal global [100 x i8] zeroinitializer, align 16
@weak = weak global i32 1, align 4
@com = common global i32 0, align 4
@mine = global i32 1, section "my_section", align 4
@ext = external global i32
@alias = alias i32, ptr @data
; CHECK-DAG: @data = global i32 7, align 4 #[[G:[0-9]+]]
; CHECK-DAG: @zero = internal global [100 x i8] zeroinitializer, align 16 #[[G]]
; CHECK-DAG: @weak = weak global i32 1, align 4 #[[G]]
; CHECK-DAG: @com = common global i32 0, align 4 #[[G]]
; CHECK-DAG: @llvm.used = appending global [1 x ptr] [ptr @com]
; CHECK-DAG: @mine = global i32 1, align 4 #[[G]]
; CHECK-DAG: @ext = external global i32{{$}}
; CHECK-DAG: @__dsm_line_shift = weak_odr hidden constant i32 12, align 4
; CHECK-DAG: @__dsm_note.{{[0-9]+}}.12.0 = internal constant [48 x i8] c"\04\00\00\00\0C\00\00\00\01\00\00\00dsm\00\{{..}}\00\00\00\0C\00\00\00\00\00\00\00\04\00\00\00\04\00\00\00\04\00\00\00dsm\00none", section ".note.dsm", align 4
; CHECK: attributes #[[G]] = { "bss-section"=".dsm.bss" "data-section"=".dsm.data" }
define void @f() {
  ret void
}
