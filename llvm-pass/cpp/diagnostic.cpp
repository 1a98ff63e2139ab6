// Messages in the compiler's own form.
#include "shim.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"

using namespace llvm;
using namespace dsm;

namespace {

// A part of a remark: text, or a value that records keep under a name.
struct Piece {
  const char *Key;
  size_t KeyLen;
  const char *Text;
  size_t Len;
};

enum Remark { Passed, Missed, Analysis };

// Emits a remark of the kind that R is, at an instruction or at the start of a loop.
template <typename R>
void remark(Instruction *I, void *L, StringRef Name, ArrayRef<Piece> Pieces) {
  BasicBlock *Block = L ? loop(L)->getHeader() : I->getParent();
  OptimizationRemarkEmitter(Block->getParent()).emit([&] {
    R Out("dsm", Name, L ? DiagnosticLocation(loop(L)->getStartLoc()) : DiagnosticLocation(I->getDebugLoc()), Block);
    for (const Piece &P : Pieces) {
      StringRef Text(P.Text, P.Len);
      if (P.KeyLen)
        Out << ore::NV(StringRef(P.Key, P.KeyLen), Text);
      else
        Out << Text;
    }
    return Out;
  });
}

size_t copy(StringRef Text, char *Out, size_t Size) {
  size_t N = std::min(Size, Text.size());
  memcpy(Out, Text.data(), N);
  return N;
}

// "file:line:column", as compilers write places; nothing if the place is not known.
size_t copyPlace(const DebugLoc &Place, char *Out, size_t Size) {
  if (!Place || !Place.getLine())
    return 0;
  Twine Column = Twine(":") + Twine(Place.getCol());
  return copy((cast<DIScope>(Place.getScope())->getFilename() + ":" + Twine(Place.getLine()) + Column).str(), Out, Size);
}

// The name that the source gives to what a pointer points to, as far as debug information or the symbol tells it.
std::string sourceName(const Value *Pointer) {
  const Value *Object = getUnderlyingObject(Pointer);
  if (isa<Function>(Object))
    return demangle(Object->getName());
  if (auto *Global = dyn_cast<GlobalVariable>(Object)) {
    SmallVector<DIGlobalVariableExpression *, 1> Described;
    Global->getDebugInfo(Described);
    return Described.empty() ? demangle(Global->getName()) : Described[0]->getVariable()->getName().str();
  }
  if (auto *Load = dyn_cast<LoadInst>(Object)) {
    const Value *From = Load->getPointerOperand()->stripPointerCasts();
    return isa<GlobalVariable>(From) ? "*" + sourceName(From) : "";
  }
  SmallVector<DbgVariableRecord *, 4> Records;
  findDbgUsers(const_cast<Value *>(Object), Records);
  return Records.empty() ? "" : Records[0]->getVariable()->getName().str();
}

} // namespace

extern "C" {

void dsm_shim_diagnose(LLVMValueRef FunctionRef, LLVMValueRef InstRef, int Severity, const char *Text,
                       size_t Len) {
  auto &F = *cast<Function>(unwrap(FunctionRef));
  DiagnosticLocation Place;
  if (auto *I = InstRef ? cast<Instruction>(unwrap(InstRef)) : nullptr; I && I->getDebugLoc())
    Place = DiagnosticLocation(I->getDebugLoc());
  else if (auto *Subprogram = F.getSubprogram())
    Place = DiagnosticLocation(Subprogram);
  auto Kind = Severity == 0 ? DS_Error : Severity == 1 ? DS_Warning : DS_Remark;
  std::string Message(Text, Len);
  if (Place.isValid())
    return F.getContext().diagnose(DiagnosticInfoGenericWithLoc(Message, F, Place, Kind));
  // Without debug information the function is all that can be named.
  std::string Where = F.getParent()->getSourceFileName() + ": in `" + demangle(F.getName()) + "': ";
  F.getContext().diagnose(DiagnosticInfoGeneric(Where + Message, Kind));
}
// Where an instruction is: file, line and function.
size_t dsm_shim_place(LLVMValueRef InstRef, char *Out, size_t Size) {
  auto *I = cast<Instruction>(unwrap(InstRef));
  std::string Text = demangle(I->getFunction()->getName());
  if (const DebugLoc &Place = I->getDebugLoc(); Place && Place.getLine())
    Text = cast<DIScope>(Place.getScope())->getFilename().str() + ":" + std::to_string(Place.getLine()) + " (" + Text + ")";
  else
    Text += " (no debug information: compile with -g for the line)";
  return copy(Text, Out, Size);
}
void dsm_shim_module_diagnose(LLVMModuleRef M, int Severity, const char *Text, size_t Len) {
  std::string Message(Text, Len);
  auto Kind = Severity == 0 ? DS_Error : Severity == 1 ? DS_Warning : DS_Remark;
  unwrap(M)->getContext().diagnose(DiagnosticInfoGeneric(Message, Kind));
}
// Whether anybody reads remarks of the pass.
int dsm_shim_remarks_wanted(LLVMValueRef FunctionRef) {
  return OptimizationRemarkEmitter(cast<Function>(unwrap(FunctionRef))).allowExtraAnalysis("dsm");
}
// At the instruction, or at the loop if there is one.
void dsm_shim_remark(LLVMValueRef InstRef, void *L, int Kind, const char *Name, size_t NameLen, const Piece *Pieces, size_t Count) {
  auto *I = InstRef ? cast<Instruction>(unwrap(InstRef)) : nullptr;
  // Remarks keep a pointer to the name until they are emitted.
  std::string Title(Name, NameLen);
  ArrayRef<Piece> All(Pieces, Count);
  switch (Kind) {
  case Passed:
    return remark<OptimizationRemark>(I, L, Title, All);
  case Missed:
    return remark<OptimizationRemarkMissed>(I, L, Title, All);
  default:
    return remark<OptimizationRemarkAnalysis>(I, L, Title, All);
  }
}
size_t dsm_shim_position(LLVMValueRef InstRef, char *Out, size_t Size) {
  return copyPlace(cast<Instruction>(unwrap(InstRef))->getDebugLoc(), Out, Size);
}
size_t dsm_shim_loop_position(void *L, char *Out, size_t Size) { return copyPlace(loop(L)->getStartLoc(), Out, Size); }
size_t dsm_shim_source_name(LLVMValueRef Pointer, char *Out, size_t Size) { return copy(sourceName(unwrap(Pointer)), Out, Size); }

} // extern "C"
