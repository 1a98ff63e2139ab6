// Where the pass runs in the compiler's pipeline, and LLVM's own passes that run before it, with their limits.
#include "llvm-c/Core.h"
#include "llvm/Analysis/GlobalsModRef.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CBindingWrapping.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Coroutines/CoroCleanup.h"
#include "llvm/Transforms/Coroutines/CoroConditionalWrapper.h"
#include "llvm/Transforms/Coroutines/CoroEarly.h"
#include "llvm/Transforms/Coroutines/CoroSplit.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

// Implemented in Rust: 1 if the module changed.
extern "C" int dsm_pass_run(LLVMModuleRef module, void *analyses);
// Implemented in Rust: the same for what has to be seen before functions are inlined.
extern "C" int dsm_pass_early(LLVMModuleRef module);
// Implemented in Rust: asserts that accesses are allowed, where that was asked for; 1 if the module changed.
extern "C" int dsm_pass_verify(LLVMModuleRef module);
// Implemented in Rust: 1 if loop-invariant code is to be moved first.
extern "C" int dsm_pass_moves_invariants();
// Implemented in Rust: 1 if subscripts are to be widened, and that: 1 if the function changed.
extern "C" int dsm_pass_widens();
extern "C" int dsm_pass_widen(LLVMModuleRef module, LLVMValueRef function);
// Implemented in Rust: 1 if loads and stores in loops are to be counted before and after that.
extern "C" int dsm_pass_counts();
extern "C" void dsm_pass_loop_accesses(uint64_t accesses, int after);

namespace {

// Memory accesses of a loop that are looked at one by one.
constexpr unsigned LicmAccesses = 1000, UsualAccesses = 100;

struct DsmPass : PassInfoMixin<DsmPass> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    return dsm_pass_run(wrap(&M), &MAM) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  // Also under optnone: code without checks is wrong code.
  static bool isRequired() { return true; }
};

struct DsmEarlyPass : PassInfoMixin<DsmEarlyPass> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    return dsm_pass_early(wrap(&M)) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// Behind LLVM's combination of instructions, before it reassociates.
struct DsmWidenPass : PassInfoMixin<DsmWidenPass> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    if (!dsm_pass_widen(wrap(F.getParent()), wrap(&F)))
      return PreservedAnalyses::all();
    PreservedAnalyses Kept;
    Kept.preserveSet<CFGAnalyses>();
    return Kept;
  }
};

// Behind LLVM's own optimisations, so that it sees the accesses that are made.
struct DsmVerifyPass : PassInfoMixin<DsmVerifyPass> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    return dsm_pass_verify(wrap(&M)) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// Sets the number of memory accesses that MemorySSA walks over, an option of LLVM that is no parameter of any pass.
struct WalkLimitPass : PassInfoMixin<WalkLimitPass> {
  unsigned Limit;
  explicit WalkLimitPass(unsigned Limit) : Limit(Limit) {}
  PreservedAnalyses run(Module &, ModuleAnalysisManager &) {
    auto &Options = cl::getRegisteredOptions();
    auto It = Options.find("memssa-check-limit");
    if (It != Options.end())
      It->second->addOccurrence(0, It->first, std::to_string(Limit));
    return PreservedAnalyses::all();
  }
};

struct CountPass : PassInfoMixin<CountPass> {
  bool After;
  explicit CountPass(bool After) : After(After) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
    uint64_t Count = 0;
    for (Function &F : M) {
      if (F.isDeclaration())
        continue;
      auto &LI = FAM.getResult<LoopAnalysis>(F);
      for (BasicBlock &B : F)
        if (LI.getLoopFor(&B))
          Count += count_if(B, [](Instruction &I) { return isa<LoadInst, StoreInst>(I); });
    }
    dsm_pass_loop_accesses(Count, After);
    return PreservedAnalyses::all();
  }
};

// LICM without its limit of 100 memory accesses a loop: bounds of loops with large bodies would stay loads in the enclosing loop. The
// other passes find out that what was moved out is the same in all iterations.
void addInvariantMotion(ModulePassManager &MPM) {
  FunctionPassManager FPM;
  FPM.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions(LicmAccesses, 250, true)), /*UseMemorySSA=*/true));
  FPM.addPass(GVNPass());
  FPM.addPass(InstCombinePass());
  FPM.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  FPM.addPass(SimplifyCFGPass());
  bool Counts = dsm_pass_counts();
  if (Counts)
    MPM.addPass(CountPass(false));
  MPM.addPass(WalkLimitPass(LicmAccesses));
  MPM.addPass(createModuleToFunctionPassAdaptor(std::move(FPM)));
  MPM.addPass(WalkLimitPass(UsualAccesses));
  if (Counts)
    MPM.addPass(CountPass(true));
}

// Coroutines become functions with a frame in memory, which at -O0 happens behind this place: what lives in the frame must not move to the
// shared stack.
void addCoroutineSplitting(ModulePassManager &MPM) {
  ModulePassManager Passes;
  Passes.addPass(CoroEarlyPass());
  CGSCCPassManager CGPM;
  CGPM.addPass(CoroSplitPass());
  Passes.addPass(createModuleToPostOrderCGSCCPassAdaptor(std::move(CGPM)));
  Passes.addPass(CoroCleanupPass());
  MPM.addPass(CoroConditionalWrapper(std::move(Passes)));
}

// Loops get preheaders, which checks are hoisted to. (Optional passes do not run at -O0.)
void addPasses(ModulePassManager &MPM, bool Optimise) {
  if (!Optimise)
    addCoroutineSplitting(MPM);
  else if (dsm_pass_moves_invariants())
    addInvariantMotion(MPM);
  MPM.addPass(createModuleToFunctionPassAdaptor(LoopSimplifyPass()));
  MPM.addPass(DsmPass());
  // What was known of the functions' use of globals is kept until somebody says otherwise, and is no longer true: calls of the runtime change
  // variables whose address the program does not take.
  MPM.addPass(RecomputeGlobalsAAPass());
}

} // namespace

extern "C" void dsm_shim_register(void *PassBuilderPtr) {
  auto &PB = *static_cast<PassBuilder *>(PassBuilderPtr);
  PB.registerPipelineStartEPCallback([](ModulePassManager &MPM, OptimizationLevel) { MPM.addPass(DsmEarlyPass()); });
  if (dsm_pass_widens())
    PB.registerPeepholeEPCallback(
        [](FunctionPassManager &FPM, OptimizationLevel) { FPM.addPass(DsmWidenPass()); });
  PB.registerOptimizerEarlyEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level, ThinOrFullLTOPhase) {
        addPasses(MPM, Level != OptimizationLevel::O0);
      });
  PB.registerOptimizerLastEPCallback([](ModulePassManager &MPM, OptimizationLevel, ThinOrFullLTOPhase) {
    MPM.addPass(DsmVerifyPass());
  });
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &MPM, ArrayRef<PassBuilder::PipelineElement>) {
        if (Name == "dsm-early") {
          MPM.addPass(DsmEarlyPass());
          return true;
        }
        if (Name == "dsm-widen") {
          MPM.addPass(createModuleToFunctionPassAdaptor(DsmWidenPass()));
          return true;
        }
        if (Name == "dsm-verify") {
          MPM.addPass(DsmVerifyPass());
          return true;
        }
        if (Name != "dsm")
          return false;
        addPasses(MPM, false);
        return true;
      });
}
