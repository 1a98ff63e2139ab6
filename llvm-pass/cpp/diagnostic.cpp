// Messages in the compiler's own form.
#include "shim.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"

using namespace llvm;
using namespace dsm;

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
  size_t N = std::min(Size, Text.size());
  memcpy(Out, Text.data(), N);
  return N;
}
void dsm_shim_module_diagnose(LLVMModuleRef M, int Severity, const char *Text, size_t Len) {
  std::string Message(Text, Len);
  auto Kind = Severity == 0 ? DS_Error : Severity == 1 ? DS_Warning : DS_Remark;
  unwrap(M)->getContext().diagnose(DiagnosticInfoGeneric(Message, Kind));
}
void dsm_shim_loop_remark(void *L, const char *Name, size_t NameLen, const char *Text, size_t Len) {
  std::string Title(Name, NameLen);
  BasicBlock *Header = loop(L)->getHeader();
  OptimizationRemarkEmitter ORE(Header->getParent());
  ORE.emit([&] {
    return OptimizationRemark("dsm", Title, loop(L)->getStartLoc(), Header) << StringRef(Text, Len);
  });
}
void dsm_shim_remark(LLVMValueRef InstRef, int Missed, const char *Name, size_t NameLen, const char *Text,
                     size_t Len) {
  auto *I = cast<Instruction>(unwrap(InstRef));
  std::string Title(Name, NameLen);
  OptimizationRemarkEmitter ORE(I->getFunction());
  if (Missed)
    ORE.emit([&] { return OptimizationRemarkMissed("dsm", Title, I) << StringRef(Text, Len); });
  else
    ORE.emit([&] { return OptimizationRemark("dsm", Title, I) << StringRef(Text, Len); });
}

} // extern "C"
