; An unknown function that gets a shared pointer is named.
; OPTIONS: remarks=1
; STDERR
; CHECK: mystery gets a pointer to memory that may be shared
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @mystery(ptr)
define void @f(ptr %p) {
  call void @mystery(ptr %p)
  ret void
}
