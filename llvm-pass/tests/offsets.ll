; An element in front of a pointer, reached by a number without a sign: the line that is checked is that of the address, not one at the end of the address space.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @before(ptr %p) {
; CHECK-LABEL: define i32 @before
; CHECK: getelementptr inbounds i8, ptr %p, i64 -64
; CHECK: load atomic
  %q = getelementptr inbounds nuw i8, ptr %p, i64 -64
  %v = load i32, ptr %q, align 4
  ret i32 %v
}

define i32 @behind(ptr %p) {
; CHECK-LABEL: define i32 @behind
; CHECK: getelementptr inbounds nuw i8, ptr %p, i64 64
; CHECK: load atomic
  %q = getelementptr inbounds nuw i8, ptr %p, i64 64
  %v = load i32, ptr %q, align 4
  ret i32 %v
}
