//! Fortran: messages of the compiler, and what `programs/f_units.f90` cannot show of input and output between processes because it ends the program.

use crate::case::Case;
use std::process::Command;

/// The runtime stands in front of all functions of flang's library that know of a statement: one that it does not know would take another
/// process's statement for one of this process.
#[test]
fn all_functions_of_statements_are_known() {
    let Some(case) = Case::new("statements", &[]) else { return };
    let ask = Command::new(&case.dsm.fc).arg("-print-resource-dir").output().expect("the driver runs");
    let directory = String::from_utf8_lossy(&ask.stdout).trim().to_owned();
    let library = format!("{directory}/lib/x86_64-pc-linux-gnu/libflang_rt.runtime.a");
    let listing = Command::new("nm").args(["--defined-only", &library]).output().expect("nm runs");
    let listing = String::from_utf8_lossy(&listing.stdout);
    let mut defined: Vec<&str> = listing
        .lines()
        .filter_map(|l| l.split_whitespace().last()?.strip_prefix(dsm_abi::fortran::LIBRARY_PREFIX))
        .filter(|name| !name.starts_with("CheckUnitNumberInRange"))
        .collect();
    defined.sort_unstable();
    assert_eq!(defined, dsm_abi::fortran::STATEMENTS, "{library}");
}

const SOURCE: &str = "module objects
  type counted
    integer :: n
  contains
    procedure :: put
    generic :: write(formatted) => put
  end type
contains
  subroutine put(x, unit, iotype, v, iostat, iomsg)
    class(counted), intent(in) :: x
    integer, intent(in) :: unit, v(:)
    character(*), intent(in) :: iotype
    integer, intent(out) :: iostat
    character(*), intent(inout) :: iomsg
    write (unit, '(a,i0)', iostat=iostat, iomsg=iomsg) 'n', x%n
  end subroutine
  integer function line_of(unit)
    integer, intent(in) :: unit
    read (unit, *) line_of
  end function
end module
program units
  use objects
  use omp_lib
  type(counted) :: x
  character(20) :: what, text
  integer :: a(3)
  call get_command_argument(1, what)
  x%n = 5
  open (20, status='scratch')
  open (21, status='scratch')
  write (21, '(i0)') 1, 2, 3
  rewind (21)
  write (20, *) 7, 8, 9
  rewind (20)
  !$omp parallel num_threads(2) private(text)
  if (omp_get_thread_num() == 1) then
    ! Internal output works everywhere, and so does standard output.
    write (text, '(DT)') x
    print *, trim(text), ' ', x
    select case (what)
    case ('defined')
      write (20, *) x
    case ('nested')
      read (20, *) a(1), a(line_of(21))
    case ('format')
      write (20, '(i4)') 'text'
    end select
  end if
  !$omp end parallel
  print *, 'end'
end program
";

#[test]
fn what_the_owner_alone_can_do_is_said() {
    let Some(case) = Case::new("units", &[("units.f90", SOURCE)]) else { return };
    case.must("dsm", &case.dsm.fc, "-O2 -fopenmp ../units.f90 -o units");
    let run = |what: &str| {
        let outcome = case.run("dsm", &case.dsm.run, &format!("-n 2 ./units {what}"));
        (outcome.status, outcome.text(), outcome.errors())
    };
    let (status, text, message) = run("nothing");
    assert_eq!((status, &*text, &*message), (Some(0), " n5 n5\n end\n", ""), "{message}");
    for (what, named) in [
        ("defined", &["dsm: error: process 1", "unit 20", "process 0", "defined input or output"][..]),
        ("nested", &["dsm: error: process 1", "process 0", "input statement"]),
        ("format", &["fatal Fortran runtime error", "units.f90:47"]),
    ] {
        let (status, text, message) = run(what);
        assert!(status != Some(0) && !text.contains("end"), "{what}: {text}{message}");
        assert!(named.iter().all(|n| message.contains(n)), "{what}: {message}");
    }
}

/// The region has two arguments of one variable. flang 22 fails where it has to describe both in debug information.
const TWO_NAMES: &str = "program names
  implicit none
  integer :: total
  total = 1
  associate (part => total)
    !$omp target
    total = total + 1
    part = part + 1
    !$omp end target
    !$omp parallel
    !$omp critical
    part = part + 1
    !$omp end critical
    !$omp end parallel
    print *, part
  end associate
end program
";

#[test]
fn lines_in_messages_need_no_debug_information() {
    let Some(case) = Case::new("lines", &[("names.f90", TWO_NAMES)]) else { return };
    for options in ["-O0", "-O2", "-O2 -g0", "-O2 -fdsm-verify"] {
        let outcome =
            case.run("dsm", &case.dsm.fc, &format!("{options} -fopenmp -c ../names.f90 -o names.o"));
        let message = outcome.errors();
        assert_eq!(outcome.status, Some(0), "{options}: {message}");
        assert!(message.contains("names.f90:6:0: the `omp target` region in line 6"), "{options}: {message}");
        let sections = case.must("dsm", "readelf", "--wide --sections names.o");
        assert!(!sections.contains(".debug_"), "{options}: {sections}");
    }
    case.must("dsm", &case.dsm.fc, "-fopenmp names.o -o names");
    let outcome = case.run("dsm", &case.dsm.run, "-n 2 ./names");
    assert_eq!((outcome.status, outcome.text().trim()), (Some(0), "5"), "{}", outcome.errors());
}
