; STDERR
; A function that synchronises must not have the name and the type of a library function that the runtime replaces, and that does not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: the program's function `random` synchronises threads, and other files take it for the C library's
; CHECK-NOT: the program's function
define internal void @wait_for_all() {
  fence seq_cst
  ret void
}
define i64 @random() {
  call void @wait_for_all()
  ret i64 0
}
define void @sync() {
  fence seq_cst
  ret void
}
define double @error(ptr %p, i32 %a) {
  fence seq_cst
  ret double 0.0
}
define internal i32 @rand() {
  fence seq_cst
  ret i32 0
}
