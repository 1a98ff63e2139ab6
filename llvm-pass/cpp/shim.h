// What the parts of the shim share. The shim answers what LLVM's C API does not and makes edits that it lacks: opaque handles, {pointer,
// length} strings, no exceptions and no C++ types across the boundary. What it decides by itself is whether a loop or a function can be copied, and which of LLVM's passes run before. Each part belongs to the file of the same name in
// src/llvm.
#pragma once

#include "llvm-c/Core.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/CBindingWrapping.h"

namespace dsm {

// Analyses of one function.
struct Analyses {
  llvm::DominatorTree &DT;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::AAResults &AA;
  const llvm::DataLayout &DL;
};

inline Analyses &analyses(void *A) { return *static_cast<Analyses *>(A); }
inline const llvm::SCEV *expr(const void *S) { return static_cast<const llvm::SCEV *>(S); }
inline llvm::Loop *loop(void *L) { return static_cast<llvm::Loop *>(L); }

// The manager of a function's analyses, from the module's.
inline llvm::FunctionAnalysisManager &manager(void *ManagerPtr, llvm::Function &F) {
  auto &MAM = *static_cast<llvm::ModuleAnalysisManager *>(ManagerPtr);
  return MAM.getResult<llvm::FunctionAnalysisManagerModuleProxy>(*F.getParent()).getManager();
}

} // namespace dsm
