// Analyses of a function, from LLVM's manager.
#include "shim.h"

using namespace llvm;
using namespace dsm;

extern "C" {

void *dsm_shim_analyses(void *ManagerPtr, LLVMValueRef FunctionRef) {
  auto &F = *cast<Function>(unwrap(FunctionRef));
  auto &FAM = manager(ManagerPtr, F);
  return new Analyses{FAM.getResult<DominatorTreeAnalysis>(F), FAM.getResult<LoopAnalysis>(F),
                      FAM.getResult<ScalarEvolutionAnalysis>(F), FAM.getResult<AAManager>(F), F.getDataLayout()};
}

void dsm_shim_analyses_free(void *A) { delete &analyses(A); }

void dsm_shim_invalidate(void *ManagerPtr, LLVMValueRef FunctionRef) {
  auto &F = *cast<Function>(unwrap(FunctionRef));
  manager(ManagerPtr, F).invalidate(F, PreservedAnalyses::none());
}

// Scalar evolution alone.
void dsm_shim_invalidate_scev(void *ManagerPtr, LLVMValueRef FunctionRef) {
  auto &F = *cast<Function>(unwrap(FunctionRef));
  PreservedAnalyses Kept = PreservedAnalyses::all();
  Kept.abandon<ScalarEvolutionAnalysis>();
  manager(ManagerPtr, F).invalidate(F, Kept);
}

int dsm_shim_dominates(void *A, LLVMBasicBlockRef X, LLVMBasicBlockRef Y) {
  return analyses(A).DT.dominates(unwrap(X), unwrap(Y));
}

} // extern "C"
