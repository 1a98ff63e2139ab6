; `int main(void)` gets a thunk with the runtime's signature.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @main() {
; CHECK: define internal i32 @__dsm_program_main()
; CHECK: define i32 @__dsm_user_main(i32 %0, ptr %1, ptr %2)
; CHECK-NEXT: entry:
; CHECK-NEXT: %[[R:.*]] = call i32 @__dsm_program_main()
; CHECK-NEXT: ret i32 %[[R]]
  ret i32 3
}
