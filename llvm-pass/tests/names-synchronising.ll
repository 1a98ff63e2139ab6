; STDERR
; A function that synchronises must not have the name of a library function that does not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: the program's function `sync` synchronises threads, and other files take it for the C library's
; CHECK-NOT: the program's function
define internal void @wait_for_all() {
  fence seq_cst
  ret void
}
define void @sync() {
  call void @wait_for_all()
  ret void
}
define void @syncfs() {
  ret void
}
define i32 @qsort(i32 %a) {
  fence seq_cst
  ret i32 %a
}
define internal i32 @random() {
  fence seq_cst
  ret i32 0
}
