// The arithmetic of the OpenCL backend. OpenCL C 1.2, float32. The host defines, per device:
//   W        floats in a vector (4, 8 or 16)
//   VECTORS  vectors of a row that one work-item of `product` computes
//   ROWS     rows that it computes
//   PANEL    columns that stand together in a packed right operand, a multiple of W * VECTORS
// Every cell is summed in the order of its terms by one work-item, every row of a softmax in an order that its width
// alone decides: so a number does not depend on which rows or stages were asked for beside it. Explicit vectors keep the
// compiler from treating some lanes otherwise than others.
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define floatW PASTE(float, W)
#define intW PASTE(int, W)
#define loadW PASTE(vload, W)
#define storeW PASTE(vstore, W)
#define convert_intW PASTE(convert_int, W)
#define convert_floatW PASTE(convert_float, W)

#pragma OPENCL FP_CONTRACT ON // one instruction for multiply and add where the device has one

// c = a b (+ bias). One work-item computes ROWS x (VECTORS * W) cells.
//   a (rows, depth)  row-major, lda floats a row; rows a multiple of ROWS
//   b (depth, width) packed: column j, term k at (j / PANEL) * depth * PANEL + k * PANEL + j % PANEL
//   c (rows, width)  row-major; width a multiple of PANEL
// closed: 0 every term; 1 (scores) cells outside the open ranges of all ROWS rows are left as they are; 2 (A V) terms
// outside the open ranges of all ROWS rows are left out: their weights are 0.
__kernel void product(__global const float* a, int lda, __global const float* b, int depth, __global float* c,
                      int rows, int width, __global const float* bias, int withBias, __global const int2* open, int closed) {
    const int col = (int)get_global_id(0) * (VECTORS * W), row = (int)get_global_id(1) * ROWS;
    if (col >= width || row >= rows)
        return;
    int first = 0, last = depth;
    if (closed) {
        int begin = INT_MAX, end = 0;
        for (int r = 0; r < ROWS; ++r) {
            const int2 range = open[row + r];
            if (range.x < range.y) {
                begin = min(begin, range.x);
                end = max(end, range.y);
            }
        }
        if (closed == 2) {
            first = min(begin, end);
            last = end;
        } else if (col >= end || col + VECTORS * W <= begin) {
            return;
        }
    }
    a += (size_t)row * (size_t)lda;
    b += (size_t)(col / PANEL) * (size_t)depth * PANEL + (size_t)(col % PANEL);
    c += (size_t)row * (size_t)width + (size_t)col;

    floatW sum[ROWS][VECTORS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            sum[r][v] = (floatW)(0.0f);
    for (int k = first; k < last; ++k) {
        floatW term[VECTORS];
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            term[v] = loadW(v, b + (size_t)k * PANEL);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const floatW factor = (floatW)(a[(size_t)r * (size_t)lda + (size_t)k]);
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                sum[r][v] = factor * term[v] + sum[r][v];
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            floatW value = sum[r][v];
            if (withBias)
                value += loadW(v, bias + col);
            storeW(value, v, c + (size_t)r * (size_t)width);
        }
}

#pragma OPENCL FP_CONTRACT OFF // the steps are rounded as the reference rounds them

float largestOf(floatW x) {
    float lanes[W], largest = -INFINITY;
    storeW(x, 0, lanes);
    for (int i = 0; i < W; ++i)
        largest = fmax(largest, lanes[i]);
    return largest;
}

float sumOf(floatW x) {
    float lanes[W], sum = 0.0f;
    storeW(x, 0, lanes);
    for (int i = 0; i < W; ++i)
        sum += lanes[i];
    return sum;
}

#define SCALE 1   // multiply by the scale, add the position bias
#define MASK 2    // add the mask, apply the softcap, -inf in closed cells
#define SOFTMAX 4 // over the open cells; a row without any becomes 0
#define AFTER 8   // class rule: SOFTMAX runs over all cells and closed ones become 0 afterwards

// From scores to weights, in place: the steps that are set in `steps`, in this order. One work-group a row.
//   cells (rows, width) row-major; columns from m on are padding and end as 0 or -inf
//   open[row] is the range of open keys of the block's row; additive (rows, width) holds -inf in padding
//   relative[j - i + n - 1] for row i of n; temperature: 0 argmax, 1 divides by 1 / inverse, 2 uniform
__kernel void finish(__global float* cells, int width, int m, int firstRow, int n, int steps, float scale,
                     float alibiSlope, __global const float* relative, int withRelative, __global const int2* open,
                     __global const float* additive, int withAdditive, float softcap, int temperature, float inverse,
                     __local float* shared) {
    const int r = (int)get_group_id(0), i = firstRow + r;
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int2 range = open[r];
    cells += (size_t)r * (size_t)width;
    additive += (size_t)r * (size_t)width;
    int lanes[W];
    for (int l = 0; l < W; ++l)
        lanes[l] = l;
    const intW lane = loadW(0, lanes);
    const bool after = (steps & AFTER) != 0, softmax = (steps & SOFTMAX) != 0;
    // Vectors without an open cell need no arithmetic where nothing but the closed value is asked for.
    const bool skips = !after && (steps & (MASK | SOFTMAX)) != 0;
    const float closedValue = softmax ? 0.0f : -INFINITY;

    floatW largest = (floatW)(-INFINITY);
    for (int j = item * W; j < width; j += items * W) {
        if (skips && (j + W <= range.x || j >= range.y)) {
            storeW((floatW)(closedValue), 0, cells + j);
            continue;
        }
        const intW col = lane + j;
        floatW x = loadW(0, cells + j);
        if (steps & SCALE) {
            x *= scale;
            if (alibiSlope != 0.0f)
                x -= alibiSlope * fabs(convert_floatW(col - i));
            if (withRelative)
                x += loadW(0, relative + (j - i + n - 1));
        }
        intW isOpen = (col >= range.x) & (col < range.y);
        if (withAdditive) {
            const floatW added = loadW(0, additive + j);
            isOpen &= added != (floatW)(-INFINITY);
            if (steps & MASK)
                x += added;
        }
        if (steps & MASK) {
            if (softcap > 0.0f)
                x = softcap * tanh(x / softcap);
            x = select((floatW)(-INFINITY), x, isOpen);
        }
        storeW(x, 0, cells + j);
        if (softmax)
            largest = fmax(largest, select((floatW)(-INFINITY), x, after ? col < m : isOpen));
    }
    if (!softmax)
        return;

    shared[item] = largestOf(largest);
    barrier(CLK_LOCAL_MEM_FENCE);
    float top = shared[0];
    for (int l = 1; l < items; ++l)
        top = fmax(top, shared[l]);
    barrier(CLK_LOCAL_MEM_FENCE);

    floatW total = (floatW)(0.0f);
    for (int j = item * W; j < width; j += items * W) {
        if (skips && (j + W <= range.x || j >= range.y))
            continue;
        const intW col = lane + j;
        const floatW x = loadW(0, cells + j);
        intW takesPart = after ? col < m : (col >= range.x) & (col < range.y);
        if (withAdditive && !after)
            takesPart &= loadW(0, additive + j) != (floatW)(-INFINITY);
        const intW isTop = x == (floatW)(top);
        floatW e;
        if (temperature == 0)
            e = (floatW)(0.0f);
        else if (temperature == 2)
            e = (floatW)(1.0f);
        else
            e = exp(fmax(x - top, (floatW)(-FLT_MAX)) * inverse); // never inf * 0
        e = select(e, (floatW)(1.0f), isTop); // also where x - top would be inf - inf
        e = select((floatW)(0.0f), e, takesPart);
        total += e;
        storeW(e, 0, cells + j);
    }
    shared[item] = sumOf(total);
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int l = 0; l < items; ++l)
        sum += shared[l];
    const float factor = sum > 0.0f ? 1.0f / sum : 0.0f;

    for (int j = item * W; j < width; j += items * W) {
        if (skips && (j + W <= range.x || j >= range.y))
            continue;
        floatW e = loadW(0, cells + j) * factor;
        if (after) {
            const intW col = lane + j;
            intW isOpen = (col >= range.x) & (col < range.y);
            if (withAdditive)
                isOpen &= loadW(0, additive + j) != (floatW)(-INFINITY);
            e = select((floatW)(0.0f), e, isOpen);
        }
        storeW(e, 0, cells + j);
    }
}
