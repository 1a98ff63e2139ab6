//! The part of libibverbs' interface that is used, as `<infiniband/verbs.h>` has it. The library has kept it since its version 1.1 of 2007.
//!
//! What is not used is declared as an address or left out at a structure's end, where the library makes the structure. The test compares sizes and places
//! with the header, where that is installed.
//!
//! These are own bindings, and not those of a crate such as `rdma-mummy-sys`, because the runtime is a static library that programs link: the crate's part in C
//! would define `ibv_*` and `rdma_*` in each of them, also in those that use libibverbs themselves. It would need cmake and libclang to build, too.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub(super) const IBV_PORT_ACTIVE: c_uint = 4;
pub(super) const IBV_LINK_LAYER_ETHERNET: u8 = 2;
pub(super) const IBV_ACCESS_LOCAL_WRITE: c_int = 1;
pub(super) const IBV_ACCESS_REMOTE_WRITE: c_int = 1 << 1;
pub(super) const IBV_ACCESS_REMOTE_READ: c_int = 1 << 2;
pub(super) const IBV_QPT_RC: c_uint = 2;
pub(super) const IBV_QPS_INIT: c_uint = 1;
pub(super) const IBV_QPS_RTR: c_uint = 2;
pub(super) const IBV_QPS_RTS: c_uint = 3;
pub(super) const IBV_QP_STATE: c_int = 1;
pub(super) const IBV_QP_ACCESS_FLAGS: c_int = 1 << 3;
pub(super) const IBV_QP_PKEY_INDEX: c_int = 1 << 4;
pub(super) const IBV_QP_PORT: c_int = 1 << 5;
pub(super) const IBV_QP_AV: c_int = 1 << 7;
pub(super) const IBV_QP_PATH_MTU: c_int = 1 << 8;
pub(super) const IBV_QP_TIMEOUT: c_int = 1 << 9;
pub(super) const IBV_QP_RETRY_CNT: c_int = 1 << 10;
pub(super) const IBV_QP_RNR_RETRY: c_int = 1 << 11;
pub(super) const IBV_QP_RQ_PSN: c_int = 1 << 12;
pub(super) const IBV_QP_MAX_QP_RD_ATOMIC: c_int = 1 << 13;
pub(super) const IBV_QP_MIN_RNR_TIMER: c_int = 1 << 15;
pub(super) const IBV_QP_SQ_PSN: c_int = 1 << 16;
pub(super) const IBV_QP_MAX_DEST_RD_ATOMIC: c_int = 1 << 17;
pub(super) const IBV_QP_DEST_QPN: c_int = 1 << 20;
pub(super) const IBV_WR_RDMA_WRITE: c_uint = 0;
pub(super) const IBV_WR_SEND_WITH_IMM: c_uint = 3;
pub(super) const IBV_WR_RDMA_READ: c_uint = 4;
pub(super) const IBV_SEND_FENCE: c_uint = 1;
pub(super) const IBV_SEND_SIGNALED: c_uint = 1 << 1;
pub(super) const IBV_SEND_INLINE: c_uint = 1 << 3;
pub(super) const IBV_WC_SUCCESS: c_uint = 0;

/// An address that is not used, or of a structure that is the library's business.
pub(super) type Unused = *const c_void;

/// A device before it is opened.
#[repr(C)]
pub(super) struct Device {
    _private: [u8; 0],
}

/// A protection domain.
#[repr(C)]
pub(super) struct Pd {
    _private: [u8; 0],
}

/// A shared receive queue.
#[repr(C)]
pub(super) struct Srq {
    _private: [u8; 0],
}

/// A completion queue.
#[repr(C)]
pub(super) struct Cq {
    _private: [u8; 0],
}

pub(super) type PollCq = unsafe extern "C" fn(*mut Cq, c_int, *mut Wc) -> c_int;
pub(super) type RequestNotify = unsafe extern "C" fn(*mut Cq, c_int) -> c_int;
pub(super) type PostSrqReceive = unsafe extern "C" fn(*mut Srq, *mut ReceiveWr, *mut *mut ReceiveWr) -> c_int;
pub(super) type PostSend = unsafe extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int;
pub(super) type PostReceive = unsafe extern "C" fn(*mut Qp, *mut ReceiveWr, *mut *mut ReceiveWr) -> c_int;

/// The functions that the header's inline functions call.
#[repr(C)]
pub(super) struct ContextOps {
    before_poll: [Unused; 11],
    pub(super) poll_cq: PollCq,
    pub(super) req_notify_cq: RequestNotify,
    before_srq: [Unused; 7],
    pub(super) post_srq_recv: PostSrqReceive,
    before_send: [Unused; 4],
    pub(super) post_send: PostSend,
    pub(super) post_recv: PostReceive,
}

/// An open device.
#[repr(C)]
pub(super) struct Context {
    pub(super) device: *mut Device,
    pub(super) ops: ContextOps,
}

#[repr(C)]
pub(super) struct DeviceAttr {
    fw_ver: [u8; 64],
    guids: [u64; 2],
    max_mr_size: u64,
    page_size_cap: u64,
    vendor: [u32; 3],
    pub(super) max_qp: c_int,
    capabilities: [c_int; 4],
    pub(super) max_cq: c_int,
    pub(super) max_cqe: c_int,
    bounds: [c_int; 2],
    /// READs under way that a queue pair answers at most.
    pub(super) max_qp_rd_atom: c_int,
    more_bounds: [c_int; 2],
    /// READs under way that a queue pair has asked for at most.
    pub(super) max_qp_init_rd_atom: c_int,
    other_bounds: [c_int; 13],
    max_srq: c_int,
    pub(super) max_srq_wr: c_int,
    max_srq_sge: c_int,
    max_pkeys: u16,
    local_ca_ack_delay: u8,
    pub(super) phys_port_cnt: u8,
}

#[repr(C)]
pub(super) struct PortAttr {
    pub(super) state: c_uint,
    max_mtu: c_uint,
    pub(super) active_mtu: c_uint,
    pub(super) gid_tbl_len: c_int,
    port_cap_flags: u32,
    pub(super) max_msg_sz: u32,
    counters: [u32; 2],
    pkey_tbl_len: u16,
    pub(super) lid: u16,
    sm_lid: u16,
    before_link_layer: [u8; 8],
    pub(super) link_layer: u8,
    flags: u8,
    port_cap_flags2: u16,
}

/// Sixteen bytes, of which the header makes numbers, too.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gid(pub(super) [u8; 16]);

#[repr(C)]
pub(super) struct Mr {
    before_keys: [Unused; 4],
    handle: u32,
    pub(super) lkey: u32,
    pub(super) rkey: u32,
}

#[repr(C)]
pub(super) struct CompChannel {
    context: Unused,
    pub(super) fd: c_int,
}

#[repr(C)]
pub(super) struct SrqInitAttr {
    pub(super) srq_context: Unused,
    pub(super) max_wr: u32,
    pub(super) max_sge: u32,
    pub(super) srq_limit: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct QpCap {
    pub(super) max_send_wr: u32,
    pub(super) max_recv_wr: u32,
    pub(super) max_send_sge: u32,
    pub(super) max_recv_sge: u32,
    pub(super) max_inline_data: u32,
}

#[repr(C)]
pub(super) struct QpInitAttr {
    pub(super) qp_context: Unused,
    pub(super) send_cq: *mut Cq,
    pub(super) recv_cq: *mut Cq,
    pub(super) srq: *mut Srq,
    pub(super) cap: QpCap,
    pub(super) qp_type: c_uint,
    pub(super) sq_sig_all: c_int,
}

#[repr(C)]
pub(super) struct Qp {
    before_numbers: [Unused; 6],
    handle: u32,
    pub(super) qp_num: u32,
}

#[repr(C)]
pub(super) struct GlobalRoute {
    pub(super) dgid: Gid,
    pub(super) flow_label: u32,
    pub(super) sgid_index: u8,
    pub(super) hop_limit: u8,
    pub(super) traffic_class: u8,
}

#[repr(C)]
pub(super) struct AhAttr {
    pub(super) grh: GlobalRoute,
    pub(super) dlid: u16,
    pub(super) sl: u8,
    pub(super) src_path_bits: u8,
    pub(super) static_rate: u8,
    pub(super) is_global: u8,
    pub(super) port_num: u8,
}

#[repr(C)]
pub(super) struct QpAttr {
    pub(super) qp_state: c_uint,
    cur_qp_state: c_uint,
    pub(super) path_mtu: c_uint,
    path_mig_state: c_uint,
    qkey: u32,
    pub(super) rq_psn: u32,
    pub(super) sq_psn: u32,
    pub(super) dest_qp_num: u32,
    pub(super) qp_access_flags: c_uint,
    cap: QpCap,
    pub(super) ah_attr: AhAttr,
    alt_ah_attr: AhAttr,
    pub(super) pkey_index: u16,
    alt_pkey_index: u16,
    en_sqd_async_notify: u8,
    sq_draining: u8,
    pub(super) max_rd_atomic: u8,
    pub(super) max_dest_rd_atomic: u8,
    pub(super) min_rnr_timer: u8,
    pub(super) port_num: u8,
    pub(super) timeout: u8,
    pub(super) retry_cnt: u8,
    pub(super) rnr_retry: u8,
    alt_port_num: u8,
    alt_timeout: u8,
    rate_limit: u32,
}

#[repr(C)]
pub(super) struct Sge {
    pub(super) addr: u64,
    pub(super) length: u32,
    pub(super) lkey: u32,
}

#[repr(C)]
pub(super) struct ReceiveWr {
    pub(super) wr_id: u64,
    pub(super) next: *mut ReceiveWr,
    pub(super) sg_list: *mut Sge,
    pub(super) num_sge: c_int,
}

#[repr(C)]
pub(super) struct SendWr {
    pub(super) wr_id: u64,
    pub(super) next: *mut SendWr,
    pub(super) sg_list: *mut Sge,
    pub(super) num_sge: c_int,
    pub(super) opcode: c_uint,
    pub(super) send_flags: c_uint,
    /// In network byte order.
    pub(super) imm_data: u32,
    /// Of a READ.
    pub(super) remote: RemoteAddress,
    /// What other operations need.
    pub(super) others: [u64; 9],
}

/// A place in a peer's memory.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct RemoteAddress {
    pub(super) address: u64,
    pub(super) key: u32,
}

/// A completion. Where the status is an error, only `wr_id`, the status and `qp_num` count.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Wc {
    pub(super) wr_id: u64,
    pub(super) status: c_uint,
    opcode: c_uint,
    vendor_err: u32,
    pub(super) byte_len: u32,
    /// In network byte order.
    pub(super) imm_data: u32,
    pub(super) qp_num: u32,
    src_qp: u32,
    wc_flags: c_uint,
    pkey_index: u16,
    slid: u16,
    sl: u8,
    dlid_path_bits: u8,
}

pub(super) type ForkInit = unsafe extern "C" fn() -> c_int;
pub(super) type GetDeviceList = unsafe extern "C" fn(*mut c_int) -> *mut *mut Device;
pub(super) type FreeDeviceList = unsafe extern "C" fn(*mut *mut Device);
pub(super) type GetDeviceName = unsafe extern "C" fn(*mut Device) -> *const c_char;
pub(super) type OpenDevice = unsafe extern "C" fn(*mut Device) -> *mut Context;
pub(super) type CloseDevice = unsafe extern "C" fn(*mut Context) -> c_int;
pub(super) type QueryDevice = unsafe extern "C" fn(*mut Context, *mut DeviceAttr) -> c_int;
pub(super) type QueryPort = unsafe extern "C" fn(*mut Context, u8, *mut PortAttr) -> c_int;
pub(super) type QueryGid = unsafe extern "C" fn(*mut Context, u8, c_int, *mut Gid) -> c_int;
pub(super) type AllocPd = unsafe extern "C" fn(*mut Context) -> *mut Pd;
pub(super) type RegMr = unsafe extern "C" fn(*mut Pd, *mut c_void, usize, c_int) -> *mut Mr;
pub(super) type CreateCompChannel = unsafe extern "C" fn(*mut Context) -> *mut CompChannel;
/// The device, the least number of entries, a context, the channel, the number of an interrupt.
pub(super) type CreateCq =
    unsafe extern "C" fn(*mut Context, c_int, *mut c_void, *mut CompChannel, c_int) -> *mut Cq;
pub(super) type GetCqEvent = unsafe extern "C" fn(*mut CompChannel, *mut *mut Cq, *mut *mut c_void) -> c_int;
pub(super) type AckCqEvents = unsafe extern "C" fn(*mut Cq, c_uint);
pub(super) type CreateSrq = unsafe extern "C" fn(*mut Pd, *mut SrqInitAttr) -> *mut Srq;
pub(super) type CreateQp = unsafe extern "C" fn(*mut Pd, *mut QpInitAttr) -> *mut Qp;
pub(super) type ModifyQp = unsafe extern "C" fn(*mut Qp, *mut QpAttr, c_int) -> c_int;
pub(super) type WcStatusStr = unsafe extern "C" fn(c_uint) -> *const c_char;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::mem::offset_of;
    use std::process::{Command, Stdio};

    use super::*;

    const HEADER: &str = "/usr/include/infiniband/verbs.h";

    /// Offsets here, and the C expressions for them; sizes where the program makes the structure.
    macro_rules! places {
        ($($name:ident = $c:literal { $($field:ident: $member:literal),* })*) => {
            vec![$($((offset_of!($name, $field), concat!("offsetof(", $c, ", ", $member, ")"))),*),*]
        };
    }
    macro_rules! sizes {
        ($($name:ident = $c:literal)*) => { [$((size_of::<$name>(), concat!("sizeof(", $c, ")"))),*] };
    }
    macro_rules! constants {
        ($($name:ident)*) => { [$(($name as usize, stringify!($name))),*] };
    }

    #[test]
    fn structures_are_those_of_the_header() {
        let mut numbers = places! {
            ContextOps = "struct ibv_context_ops" { poll_cq: "poll_cq", req_notify_cq: "req_notify_cq", post_srq_recv: "post_srq_recv", post_send: "post_send", post_recv: "post_recv" }
            Context = "struct ibv_context" { device: "device", ops: "ops" }
            DeviceAttr = "struct ibv_device_attr" { max_qp: "max_qp", max_cq: "max_cq", max_cqe: "max_cqe", max_qp_rd_atom: "max_qp_rd_atom", max_qp_init_rd_atom: "max_qp_init_rd_atom", max_srq_wr: "max_srq_wr", phys_port_cnt: "phys_port_cnt" }
            PortAttr = "struct ibv_port_attr" { state: "state", active_mtu: "active_mtu", gid_tbl_len: "gid_tbl_len", max_msg_sz: "max_msg_sz", lid: "lid", link_layer: "link_layer" }
            Mr = "struct ibv_mr" { lkey: "lkey", rkey: "rkey" }
            CompChannel = "struct ibv_comp_channel" { fd: "fd" }
            SrqInitAttr = "struct ibv_srq_init_attr" { srq_context: "srq_context", max_wr: "attr.max_wr", max_sge: "attr.max_sge", srq_limit: "attr.srq_limit" }
            QpInitAttr = "struct ibv_qp_init_attr" { send_cq: "send_cq", recv_cq: "recv_cq", srq: "srq", cap: "cap", qp_type: "qp_type", sq_sig_all: "sq_sig_all" }
            QpCap = "struct ibv_qp_cap" { max_send_wr: "max_send_wr", max_recv_wr: "max_recv_wr", max_send_sge: "max_send_sge", max_recv_sge: "max_recv_sge", max_inline_data: "max_inline_data" }
            Qp = "struct ibv_qp" { qp_num: "qp_num" }
            GlobalRoute = "struct ibv_global_route" { dgid: "dgid", flow_label: "flow_label", sgid_index: "sgid_index", hop_limit: "hop_limit", traffic_class: "traffic_class" }
            AhAttr = "struct ibv_ah_attr" { grh: "grh", dlid: "dlid", sl: "sl", src_path_bits: "src_path_bits", static_rate: "static_rate", is_global: "is_global", port_num: "port_num" }
            QpAttr = "struct ibv_qp_attr" { qp_state: "qp_state", path_mtu: "path_mtu", rq_psn: "rq_psn", sq_psn: "sq_psn", dest_qp_num: "dest_qp_num", qp_access_flags: "qp_access_flags", ah_attr: "ah_attr",
                pkey_index: "pkey_index", max_rd_atomic: "max_rd_atomic", max_dest_rd_atomic: "max_dest_rd_atomic", min_rnr_timer: "min_rnr_timer", port_num: "port_num", timeout: "timeout", retry_cnt: "retry_cnt", rnr_retry: "rnr_retry" }
            Sge = "struct ibv_sge" { addr: "addr", length: "length", lkey: "lkey" }
            ReceiveWr = "struct ibv_recv_wr" { wr_id: "wr_id", next: "next", sg_list: "sg_list", num_sge: "num_sge" }
            SendWr = "struct ibv_send_wr" { wr_id: "wr_id", next: "next", sg_list: "sg_list", num_sge: "num_sge", opcode: "opcode", send_flags: "send_flags", imm_data: "imm_data", remote: "wr.rdma" }
            Wc = "struct ibv_wc" { wr_id: "wr_id", status: "status", byte_len: "byte_len", imm_data: "imm_data", qp_num: "qp_num" }
        };
        numbers.extend(sizes! {
            DeviceAttr = "struct ibv_device_attr"
            PortAttr = "struct ibv_port_attr"
            Gid = "union ibv_gid"
            SrqInitAttr = "struct ibv_srq_init_attr"
            QpInitAttr = "struct ibv_qp_init_attr"
            QpAttr = "struct ibv_qp_attr"
            Sge = "struct ibv_sge"
            ReceiveWr = "struct ibv_recv_wr"
            SendWr = "struct ibv_send_wr"
            Wc = "struct ibv_wc"
        });
        numbers.extend(constants! {
            IBV_PORT_ACTIVE IBV_LINK_LAYER_ETHERNET IBV_ACCESS_LOCAL_WRITE IBV_ACCESS_REMOTE_READ IBV_ACCESS_REMOTE_WRITE IBV_QPT_RC IBV_QPS_INIT IBV_QPS_RTR IBV_QPS_RTS IBV_QP_STATE IBV_QP_ACCESS_FLAGS
            IBV_QP_PKEY_INDEX IBV_QP_PORT IBV_QP_AV IBV_QP_PATH_MTU IBV_QP_TIMEOUT IBV_QP_RETRY_CNT IBV_QP_RNR_RETRY IBV_QP_RQ_PSN IBV_QP_MAX_QP_RD_ATOMIC
            IBV_QP_MIN_RNR_TIMER IBV_QP_SQ_PSN IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_DEST_QPN IBV_WR_SEND_WITH_IMM IBV_WR_RDMA_READ IBV_WR_RDMA_WRITE IBV_SEND_SIGNALED IBV_SEND_INLINE IBV_WC_SUCCESS
        });
        if !std::path::Path::new(HEADER).exists() {
            return println!("skipped: {HEADER} (Debian: libibverbs-dev) is not installed");
        }
        let asserts = numbers.iter().map(|(here, c)| format!("_Static_assert(({c}) == {here}, \"{c}\");\n"));
        let source =
            format!("#include <stddef.h>\n#include <infiniband/verbs.h>\n{}", asserts.collect::<String>());
        let mut compiler = Command::new("cc")
            .args(["-x", "c", "-fsyntax-only", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a C compiler");
        compiler.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
        assert!(compiler.wait().unwrap().success());
    }
}
