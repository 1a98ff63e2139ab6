//! The part of libfabric's interface that is used, as `<rdma/*.h>` of version 1.17 have it; later versions of the library keep it.
//!
//! What is not used is declared as an address, so that what follows is at its place; structures end where nothing more is used, because the library makes
//! them. The test compares sizes and places with the headers, where they are installed.

use std::ffi::{c_char, c_int, c_void};

/// The version that is asked for: 1.17.
pub(super) const VERSION: u32 = 1 << 16 | 17;

pub(super) const FI_RMA: u64 = 1 << 2;
pub(super) const FI_TAGGED: u64 = 1 << 3;
pub(super) const FI_READ: u64 = 1 << 8;
pub(super) const FI_RECV: u64 = 1 << 10;
pub(super) const FI_SEND: u64 = 1 << 11;
pub(super) const FI_REMOTE_READ: u64 = 1 << 12;
pub(super) const FI_PROV_ATTR_ONLY: u64 = 1 << 54;
pub(super) const FI_SOURCE: u64 = 1 << 57;
pub(super) const FI_CONTEXT: u64 = 1 << 59;
pub(super) const FI_CONTEXT2: u64 = 1 << 52;
pub(super) const FI_MR_LOCAL: c_int = 1 << 2;
pub(super) const FI_MR_VIRT_ADDR: c_int = 1 << 4;
pub(super) const FI_MR_ALLOCATED: c_int = 1 << 5;
pub(super) const FI_MR_PROV_KEY: c_int = 1 << 6;
pub(super) const FI_ORDER_SAS: u64 = 1 << 8;
pub(super) const FI_THREAD_DOMAIN: c_int = 3;
pub(super) const FI_EP_RDM: c_int = 3;
pub(super) const FI_AV_TABLE: c_int = 2;
pub(super) const FI_WAIT_NONE: c_int = 0;
pub(super) const FI_WAIT_FD: c_int = 3;
pub(super) const FI_CQ_FORMAT_MSG: c_int = 2;
pub(super) const FI_GETWAIT: c_int = 5;
pub(super) const FI_ENABLE: c_int = 6;
pub(super) const FI_ADDR_UNSPEC: u64 = u64::MAX;
pub(super) const FI_EAVAIL: isize = 259;

/// An address that is not used, or of a structure that is the library's business.
pub(super) type Unused = *const c_void;

#[repr(C)]
pub(super) struct TxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) inject_size: usize,
    pub(super) size: usize,
}

#[repr(C)]
pub(super) struct RxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) total_buffered_recv: usize,
    pub(super) size: usize,
}

#[repr(C)]
pub(super) struct EpAttr {
    pub(super) kind: c_int,
    pub(super) protocol: u32,
    pub(super) protocol_version: u32,
    pub(super) max_msg_size: usize,
    pub(super) msg_prefix_size: usize,
    pub(super) max_order_raw_size: usize,
    pub(super) max_order_war_size: usize,
    pub(super) max_order_waw_size: usize,
    pub(super) mem_tag_format: u64,
}

#[repr(C)]
pub(super) struct DomainAttr {
    pub(super) domain: Unused,
    pub(super) name: *mut c_char,
    pub(super) threading: c_int,
    pub(super) control_progress: c_int,
    pub(super) data_progress: c_int,
    pub(super) resource_mgmt: c_int,
    pub(super) av_type: c_int,
    pub(super) mr_mode: c_int,
    pub(super) mr_key_size: usize,
}

#[repr(C)]
pub(super) struct FabricAttr {
    pub(super) fabric: Unused,
    pub(super) name: *mut c_char,
    pub(super) prov_name: *mut c_char,
}

#[repr(C)]
pub(super) struct Info {
    pub(super) next: *mut Info,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) addr_format: u32,
    pub(super) src_addrlen: usize,
    pub(super) dest_addrlen: usize,
    pub(super) src_addr: *mut c_void,
    pub(super) dest_addr: *mut c_void,
    pub(super) handle: Unused,
    pub(super) tx_attr: *mut TxAttr,
    pub(super) rx_attr: *mut RxAttr,
    pub(super) ep_attr: *mut EpAttr,
    pub(super) domain_attr: *mut DomainAttr,
    pub(super) fabric_attr: *mut FabricAttr,
}

#[repr(C)]
pub(super) struct Fid {
    pub(super) class: usize,
    pub(super) context: *mut c_void,
    pub(super) ops: *const FidOps,
}

#[repr(C)]
pub(super) struct FidOps {
    pub(super) size: usize,
    pub(super) close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub(super) bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub(super) control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct Fabric {
    pub(super) fid: Fid,
    pub(super) ops: *const FabricOps,
}

#[repr(C)]
pub(super) struct FabricOps {
    pub(super) size: usize,
    pub(super) domain: unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    pub(super) passive_ep: Unused,
    pub(super) eq_open: Unused,
    pub(super) wait_open: Unused,
    pub(super) trywait: unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int,
}

#[repr(C)]
pub(super) struct Domain {
    pub(super) fid: Fid,
    pub(super) ops: *const DomainOps,
    pub(super) mr: *const MrOps,
}

#[repr(C)]
pub(super) struct DomainOps {
    pub(super) size: usize,
    pub(super) av_open: unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int,
    pub(super) cq_open: unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int,
    pub(super) endpoint: unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct MrOps {
    pub(super) size: usize,
    pub(super) reg: RegisterMemory,
}

/// Of the domain: memory, its length, access, offset, key asked for, flags.
pub(super) type RegisterMemory = unsafe extern "C" fn(
    *mut Fid,
    *const c_void,
    usize,
    u64,
    u64,
    u64,
    u64,
    *mut *mut Mr,
    *mut c_void,
) -> c_int;

#[repr(C)]
pub(super) struct Mr {
    pub(super) fid: Fid,
    pub(super) mem_desc: *mut c_void,
    pub(super) key: u64,
}

#[repr(C)]
pub(super) struct AvAttr {
    pub(super) kind: c_int,
    pub(super) rx_ctx_bits: c_int,
    pub(super) count: usize,
    pub(super) ep_per_node: usize,
    pub(super) name: *const c_char,
    pub(super) map_addr: *mut c_void,
    pub(super) flags: u64,
}

#[repr(C)]
pub(super) struct Av {
    pub(super) fid: Fid,
    pub(super) ops: *const AvOps,
}

#[repr(C)]
pub(super) struct AvOps {
    pub(super) size: usize,
    pub(super) insert:
        unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct CqAttr {
    pub(super) size: usize,
    pub(super) flags: u64,
    pub(super) format: c_int,
    pub(super) wait_obj: c_int,
    pub(super) signaling_vector: c_int,
    pub(super) wait_cond: c_int,
    pub(super) wait_set: Unused,
}

/// A completion.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CqEntry {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
}

#[repr(C)]
pub(super) struct CqErrEntry {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
    pub(super) olen: usize,
    pub(super) err: c_int,
    pub(super) prov_errno: c_int,
    pub(super) err_data: *mut c_void,
    pub(super) err_data_size: usize,
}

#[repr(C)]
pub(super) struct Cq {
    pub(super) fid: Fid,
    pub(super) ops: *const CqOps,
}

#[repr(C)]
pub(super) struct CqOps {
    pub(super) size: usize,
    pub(super) read: unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize,
    pub(super) readfrom: Unused,
    pub(super) readerr: unsafe extern "C" fn(*mut Cq, *mut CqErrEntry, u64) -> isize,
}

#[repr(C)]
pub(super) struct Ep {
    pub(super) fid: Fid,
    pub(super) ops: Unused,
    pub(super) cm: *const CmOps,
    pub(super) msg: Unused,
    pub(super) rma: *const RmaOps,
    pub(super) tagged: *const TaggedOps,
}

#[repr(C)]
pub(super) struct CmOps {
    pub(super) size: usize,
    pub(super) setname: Unused,
    pub(super) getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
}

#[repr(C)]
pub(super) struct RmaOps {
    pub(super) size: usize,
    pub(super) read: ReadRemote,
}

/// Memory, its length and descriptor, source, address and key there, context.
pub(super) type ReadRemote =
    unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize;

#[repr(C)]
pub(super) struct TaggedOps {
    pub(super) size: usize,
    pub(super) recv: ReceiveTagged,
    pub(super) recvv: Unused,
    pub(super) recvmsg: Unused,
    pub(super) send: SendTagged,
    pub(super) sendv: Unused,
    pub(super) sendmsg: Unused,
    pub(super) inject: InjectTagged,
}

/// Memory, its length and descriptor, source, tag, bits of it that do not count, context.
pub(super) type ReceiveTagged =
    unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize;
/// Memory, its length and descriptor, destination, tag, context.
pub(super) type SendTagged =
    unsafe extern "C" fn(*mut Ep, *const c_void, usize, *mut c_void, u64, u64, *mut c_void) -> isize;
/// Memory, its length, destination, tag.
pub(super) type InjectTagged = unsafe extern "C" fn(*mut Ep, *const c_void, usize, u64, u64) -> isize;

pub(super) type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int;
pub(super) type FreeInfo = unsafe extern "C" fn(*mut Info);
pub(super) type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
pub(super) type OpenFabric = unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int;
pub(super) type StrError = unsafe extern "C" fn(c_int) -> *const c_char;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;
    use std::process::{Command, Stdio};

    use super::*;

    /// Pairs of an offset here and the C expression for it.
    macro_rules! places {
        ($($name:ident = $c:literal { $($field:ident: $member:literal),* })*) => {
            vec![$($((offset_of!($name, $field), concat!("offsetof(", $c, ", ", $member, ")"))),*),*]
        };
    }

    #[test]
    fn structures_are_those_of_the_headers() {
        let mut places = places! {
            Info = "struct fi_info" { caps: "caps", mode: "mode", src_addr: "src_addr", tx_attr: "tx_attr", rx_attr: "rx_attr",
                ep_attr: "ep_attr", domain_attr: "domain_attr", fabric_attr: "fabric_attr", next: "next" }
            TxAttr = "struct fi_tx_attr" { msg_order: "msg_order", inject_size: "inject_size", size: "size" }
            RxAttr = "struct fi_rx_attr" { msg_order: "msg_order", size: "size" }
            EpAttr = "struct fi_ep_attr" { kind: "type", max_msg_size: "max_msg_size", mem_tag_format: "mem_tag_format" }
            DomainAttr = "struct fi_domain_attr" { name: "name", threading: "threading", mr_mode: "mr_mode", mr_key_size: "mr_key_size" }
            FabricAttr = "struct fi_fabric_attr" { name: "name", prov_name: "prov_name" }
            Fid = "struct fid" { context: "context", ops: "ops" }
            FidOps = "struct fi_ops" { close: "close", bind: "bind", control: "control" }
            Fabric = "struct fid_fabric" { ops: "ops" }
            FabricOps = "struct fi_ops_fabric" { domain: "domain", trywait: "trywait" }
            Domain = "struct fid_domain" { ops: "ops", mr: "mr" }
            DomainOps = "struct fi_ops_domain" { av_open: "av_open", cq_open: "cq_open", endpoint: "endpoint" }
            MrOps = "struct fi_ops_mr" { reg: "reg" }
            Mr = "struct fid_mr" { mem_desc: "mem_desc", key: "key" }
            AvAttr = "struct fi_av_attr" { kind: "type", count: "count", flags: "flags" }
            Av = "struct fid_av" { ops: "ops" }
            AvOps = "struct fi_ops_av" { insert: "insert" }
            CqAttr = "struct fi_cq_attr" { size: "size", format: "format", wait_obj: "wait_obj", wait_cond: "wait_cond", wait_set: "wait_set" }
            CqEntry = "struct fi_cq_msg_entry" { flags: "flags", len: "len" }
            CqErrEntry = "struct fi_cq_err_entry" { olen: "olen", err: "err", prov_errno: "prov_errno", err_data_size: "err_data_size" }
            Cq = "struct fid_cq" { ops: "ops" }
            CqOps = "struct fi_ops_cq" { read: "read", readerr: "readerr" }
            Ep = "struct fid_ep" { cm: "cm", rma: "rma", tagged: "tagged" }
            RmaOps = "struct fi_ops_rma" { read: "read" }
            CmOps = "struct fi_ops_cm" { getname: "getname" }
            TaggedOps = "struct fi_ops_tagged" { recv: "recv", send: "send", inject: "inject" }
        };
        places.extend([
            (size_of::<AvAttr>(), "sizeof(struct fi_av_attr)"),
            (size_of::<CqAttr>(), "sizeof(struct fi_cq_attr)"),
            (size_of::<CqEntry>(), "sizeof(struct fi_cq_msg_entry)"),
            (size_of::<CqErrEntry>(), "sizeof(struct fi_cq_err_entry)"),
            (size_of::<super::super::endpoint::Scratch>(), "sizeof(struct fi_context2)"),
        ]);
        let constants = [
            (VERSION.into(), "FI_VERSION(1, 17)"),
            (FI_RMA, "FI_RMA"),
            (FI_TAGGED, "FI_TAGGED"),
            (FI_READ, "FI_READ"),
            (FI_REMOTE_READ, "FI_REMOTE_READ"),
            (FI_RECV, "FI_RECV"),
            (FI_SEND, "FI_SEND"),
            (FI_PROV_ATTR_ONLY, "FI_PROV_ATTR_ONLY"),
            (FI_SOURCE, "FI_SOURCE"),
            (FI_CONTEXT, "FI_CONTEXT"),
            (FI_CONTEXT2, "FI_CONTEXT2"),
            (FI_MR_LOCAL as u64, "FI_MR_LOCAL"),
            (FI_MR_VIRT_ADDR as u64, "FI_MR_VIRT_ADDR"),
            (FI_MR_ALLOCATED as u64, "FI_MR_ALLOCATED"),
            (FI_MR_PROV_KEY as u64, "FI_MR_PROV_KEY"),
            (FI_ORDER_SAS, "FI_ORDER_SAS"),
            (FI_THREAD_DOMAIN as u64, "FI_THREAD_DOMAIN"),
            (FI_EP_RDM as u64, "FI_EP_RDM"),
            (FI_AV_TABLE as u64, "FI_AV_TABLE"),
            (FI_WAIT_NONE as u64, "FI_WAIT_NONE"),
            (FI_WAIT_FD as u64, "FI_WAIT_FD"),
            (FI_CQ_FORMAT_MSG as u64, "FI_CQ_FORMAT_MSG"),
            (FI_GETWAIT as u64, "FI_GETWAIT"),
            (FI_ENABLE as u64, "FI_ENABLE"),
            (FI_ADDR_UNSPEC, "FI_ADDR_UNSPEC"),
            (FI_EAVAIL as u64, "FI_EAVAIL"),
        ];
        let places = places.into_iter().map(|(place, c)| (place as u64, c));
        let source: String = places
            .chain(constants)
            .map(|(here, c)| format!("_Static_assert((unsigned long long)({c}) == {here}ull, \"{c}\");\n"))
            .collect();
        let headers = [
            "stddef",
            "rdma/fabric",
            "rdma/fi_cm",
            "rdma/fi_domain",
            "rdma/fi_endpoint",
            "rdma/fi_rma",
            "rdma/fi_tagged",
        ];
        if !std::path::Path::new("/usr/include/rdma/fi_tagged.h").exists() {
            return println!("skipped: libfabric's headers (Debian: libfabric-dev) are not installed");
        }
        let includes: String = headers.iter().map(|header| format!("#include <{header}.h>\n")).collect();
        let mut compiler = Command::new("cc")
            .args(["-x", "c", "-fsyntax-only", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a C compiler");
        std::io::Write::write_all(&mut compiler.stdin.take().unwrap(), (includes + &source).as_bytes())
            .unwrap();
        assert!(compiler.wait().unwrap().success());
    }
}
