; A function of the program with the name and the type of a library function that the runtime replaces takes its place for other modules, too; with another type it is a function of its own.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-DAG: @__dsm_rand = weak alias i32 (), ptr @rand
; CHECK-DAG: @__dsm_strdup = weak alias ptr (ptr), ptr @strdup
; CHECK-NOT: @__dsm_getenv
; CHECK-NOT: @__dsm_strtok
; CHECK-NOT: @__dsm_malloc =
define i32 @rand() {
  ret i32 4
}
define ptr @strdup(ptr %s) {
  ret ptr %s
}
define i32 @getenv(i32 %n) {
  ret i32 %n
}
define internal ptr @strtok(ptr %a, ptr %b) {
  ret ptr %a
}
declare i32 @getline(ptr, i32)
declare i64 @getdelim(ptr, ptr, i32, ptr)
define void @f(ptr %p) {
; CHECK-LABEL: define void @f
; CHECK: call i32 @getline(ptr %p, i32 100)
; CHECK: call i64 @__dsm_getdelim(ptr %p, ptr %p, i32 10, ptr null)
; CHECK: call i32 @rand()
  %a = call i32 @getline(ptr %p, i32 100)
  %b = call i64 @getdelim(ptr %p, ptr %p, i32 10, ptr null)
  %c = call i32 @rand()
  ret void
}
