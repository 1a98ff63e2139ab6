; Objects of the C library that the runtime does not spread over processes are warned about.
; STDERR
; CHECK: cnd_timedwait synchronises threads of one process only
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare i32 @cnd_timedwait(ptr, ptr, ptr)
define i32 @f(ptr %p) {
  %status = call i32 @cnd_timedwait(ptr %p, ptr %p, ptr %p)
  ret i32 %status
}
