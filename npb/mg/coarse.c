/* The small grids at the bottom of a V-cycle: so little work that one thread or process does it alone. */
#include "grid.h"

void grid_coarse_cycle(const struct grid *u, const struct grid *r)
{
    for (int level = COARSE_LEVEL - 1; level >= 1; level--)
        grid_restrict(r[level + 1], r[level], grid_planes(level));
    grid_zero(u[1], grid_planes(1));
    grid_smooth(r[1], u[1], grid_planes(1));
    for (int level = 2; level <= COARSE_LEVEL; level++) {
        const struct span planes = grid_planes(level);
        grid_interpolate(u[level - 1], u[level], planes);
        grid_residual(u[level], r[level], r[level], planes);
        grid_smooth(r[level], u[level], planes);
    }
}
