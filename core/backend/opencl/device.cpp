#include "core/backend/opencl/device.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>

// The kernels stand inside the program as they are.
__asm__(
    ".section .rodata\n.global headscope_opencl_kernels\nheadscope_opencl_kernels:\n.incbin \"" HEADSCOPE_OPENCL_KERNELS
    "\"\n.byte 0\n.previous\n");
extern "C" const char headscope_opencl_kernels[];

namespace headscope::opencl {

Options Options::fromEnvironment() {
    Options options;
    if (const char* text = std::getenv("HEADSCOPE_OPENCL_CLBLAST"))
        options.clblast = *text == '0' ? Library::Never : Library::Always;
    if (const char* text = std::getenv("HEADSCOPE_OPENCL_FAIL"))
        std::from_chars(text, text + std::strlen(text), options.failAfter);
    return options;
}

// --- What devices there are ---

static std::string platformText(cl_platform_id id, cl_platform_info what) {
    std::size_t size = 0;
    if (api().clGetPlatformInfo(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0)
        return {};
    std::string text(size, '\0');
    api().clGetPlatformInfo(id, what, size, text.data(), nullptr);
    return text.c_str(); // without the final NUL
}

static std::string deviceText(cl_device_id id, cl_device_info what) {
    std::size_t size = 0;
    if (api().clGetDeviceInfo(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0)
        return {};
    std::string text(size, '\0');
    api().clGetDeviceInfo(id, what, size, text.data(), nullptr);
    return text.c_str();
}

template<class T>
static T deviceValue(cl_device_id id, cl_device_info what) {
    T value{};
    api().clGetDeviceInfo(id, what, sizeof(value), &value, nullptr);
    return value;
}

static DeviceFacts factsOf(cl_device_id id, const std::string& platform) {
    DeviceFacts f;
    f.id = id;
    f.platform = platform;
    f.name = deviceText(id, CL_DEVICE_NAME);
    f.driver = deviceText(id, CL_DRIVER_VERSION);
    f.type = deviceValue<cl_device_type>(id, CL_DEVICE_TYPE);
    f.memory = static_cast<std::int64_t>(deviceValue<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE));
    f.largestBuffer = static_cast<std::int64_t>(deviceValue<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
    f.largestGroup = deviceValue<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    f.vectorWidth = static_cast<int>(deviceValue<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
    int major = 0, minor = 0;
    const std::string version = deviceText(id, CL_DEVICE_VERSION); // "OpenCL 3.0 ..."
    if (version.starts_with("OpenCL ") && version.size() >= 10) {
        std::from_chars(version.data() + 7, version.data() + 8, major);
        std::from_chars(version.data() + 9, version.data() + 10, minor);
    }
    if (!deviceValue<cl_bool>(id, CL_DEVICE_AVAILABLE))
        f.why = "its driver says that it is not available";
    else if (!deviceValue<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE))
        f.why = "its driver has no compiler for kernels";
    else if (!deviceValue<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE))
        f.why = "its numbers have another byte order";
    else if (major * 10 + minor < 12)
        f.why = "it speaks " + version + "; OpenCL 1.2 is needed";
    return f;
}

std::vector<DeviceFacts> listDevices() {
    std::vector<DeviceFacts> devices;
    if (!loadedApi())
        return devices;
    const QuietStandardError quiet;
    cl_uint count = 0;
    if (api().clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
        return devices;
    std::vector<cl_platform_id> platforms(count);
    api().clGetPlatformIDs(count, platforms.data(), nullptr);
    for (cl_platform_id platform : platforms) {
        cl_uint here = 0;
        if (api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &here) != CL_SUCCESS || here == 0)
            continue;
        std::vector<cl_device_id> ids(here);
        api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, here, ids.data(), nullptr);
        for (cl_device_id id : ids)
            devices.push_back(factsOf(id, platformText(platform, CL_PLATFORM_NAME)));
    }
    return devices;
}

// --- One device ---

// A CPU's work-group is one work-item: explicit vectors, many rows in registers, no barriers to wait at. Elsewhere
// neighbours read neighbouring vectors of four, and a row of the softmax is shared by up to 64.
static Shape shapeOf(const DeviceFacts& f, const Options& options) {
    Shape s;
    if (f.isCpu() && !options.sharedGroups) {
        s.w = static_cast<int>(std::bit_floor(static_cast<unsigned>(std::clamp(f.vectorWidth, 4, 16))));
        s.vectors = 2;
        s.rows = s.w == 16 ? 12 : s.w == 8 ? 6 : 4; // what the registers hold
        s.panel = s.w * s.vectors;
    } else {
        s.productGroup = {16, std::max<std::size_t>(1, std::min<std::size_t>(f.largestGroup / 16, 8))};
        s.finishGroup = std::bit_floor(std::min<std::size_t>(f.largestGroup, 64));
        s.blockCells = 1 << 22;
    }
    if (options.blockCells > 0)
        s.blockCells = options.blockCells;
    return s;
}

Device::Device(DeviceFacts facts, Options options)
    : m_facts(std::move(facts)), m_options(options), m_shape(shapeOf(m_facts, m_options)) {
    if (options.largestBuffer >= 0)
        m_facts.largestBuffer = options.largestBuffer;
}

void Device::check(cl_int status, std::string_view doing) {
    if (m_options.failAfter >= 0 && m_calls++ >= m_options.failAfter)
        status = CL_OUT_OF_RESOURCES;
    if (status != CL_SUCCESS)
        throw DeviceFailure(std::string(doing) + ": " + errorName(status));
}

static std::string firstError(const std::string& log) {
    const std::size_t at = log.find("error");
    const std::size_t begin = at == std::string::npos ? 0 : log.rfind('\n', at) + 1;
    return log.substr(begin, std::min<std::size_t>(log.find('\n', begin) - begin, 200));
}

void Device::compile() {
    if (m_program)
        return;
    const QuietStandardError quiet;
    cl_int status = CL_SUCCESS;
    m_context.reset(api().clCreateContext(nullptr, 1, &m_facts.id, nullptr, nullptr, &status));
    check(status, "opening the device");
    const char* source = headscope_opencl_kernels;
    Program program(api().clCreateProgramWithSource(m_context.get(), 1, &source, nullptr, &status));
    check(status, "reading the kernels");
    const auto define = [](const char* name, int value) {
        return std::string(" -D") + name + "=" + std::to_string(value);
    };
    const std::string flags = "-cl-std=CL1.2" + define("W", m_shape.w) + define("VECTORS", m_shape.vectors) +
                              define("ROWS", m_shape.rows) + define("PANEL", m_shape.panel);
    status = api().clBuildProgram(program.get(), 1, &m_facts.id, flags.c_str(), nullptr, nullptr);
    if (status == CL_BUILD_PROGRAM_FAILURE) {
        std::size_t size = 0;
        api().clGetProgramBuildInfo(program.get(), m_facts.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
        std::string log(size, '\0');
        api().clGetProgramBuildInfo(program.get(), m_facts.id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
        throw DeviceFailure("its driver cannot compile the kernels: " + firstError(log));
    }
    check(status, "compiling the kernels");
    m_program = std::move(program);
}

Buffer Device::allocate(std::size_t bytes, const char* what) {
    const auto sizeText = [](std::int64_t b) { return std::to_string((b + 1048575) / 1048576) + " MiB"; };
    if (static_cast<std::int64_t>(bytes) > m_facts.largestBuffer)
        throw DeviceFailure(std::string(what) + " needs a buffer of " + sizeText(static_cast<std::int64_t>(bytes)) +
                            ", the device allows " + sizeText(m_facts.largestBuffer));
    cl_int status = CL_SUCCESS;
    Buffer buffer(
        api().clCreateBuffer(m_context.get(), CL_MEM_READ_WRITE, std::max<std::size_t>(bytes, 64), nullptr, &status));
    check(status, "making a buffer of " + sizeText(static_cast<std::int64_t>(bytes)) + " for " + what);
    return buffer;
}

Device::Loan Device::lane() {
    std::unique_ptr<Lane> lane;
    {
        const std::lock_guard lock(m_lanesMutex);
        if (!m_lanes.empty()) {
            lane = std::move(m_lanes.back());
            m_lanes.pop_back();
        }
    }
    return {*this, lane ? std::move(lane) : std::make_unique<Lane>(*this)};
}

Device::Loan::~Loan() {
    constexpr std::size_t keptLanes = 2;
    const std::lock_guard lock(m_device.m_lanesMutex);
    if (std::uncaught_exceptions() == m_exceptions && m_device.m_lanes.size() < keptLanes)
        m_device.m_lanes.push_back(std::move(m_lane));
}

// --- A lane ---

Lane::Lane(Device& device) : m_device(device) {
    cl_int status = CL_SUCCESS;
    m_queue.reset(api().clCreateCommandQueue(device.m_context.get(), device.facts().id, 0, &status));
    device.check(status, "making a command queue");
    m_product.reset(api().clCreateKernel(device.m_program.get(), "product", &status));
    device.check(status, "making the kernel of products");
    m_finish.reset(api().clCreateKernel(device.m_program.get(), "finish", &status));
    device.check(status, "making the kernel of softmax");
}

cl_mem Lane::scratch(Slot slot, std::size_t bytes) {
    static constexpr std::array<const char*, SlotCount> names{"the left side of a product",
                                                              "the right side of a product",
                                                              "V",
                                                              "the mask's ranges",
                                                              "the position bias",
                                                              "the mask",
                                                              "the bias",
                                                              "a block of scores",
                                                              "a block of results"};
    Slotted& s = m_scratch[slot];
    if (s.bytes < bytes) {
        s = {}; // free the old one first
        s.buffer = m_device.allocate(bytes, names[slot]);
        s.bytes = bytes;
    }
    return s.buffer.get();
}

std::vector<float>& Lane::staging(std::size_t size) {
    m_staging.resize(size);
    return m_staging;
}

void Lane::write(cl_mem to, const void* from, std::size_t bytes, std::size_t offset) {
    if (bytes > 0)
        m_device.check(api().clEnqueueWriteBuffer(m_queue.get(), to, CL_TRUE, offset, bytes, from, 0, nullptr, nullptr),
                       "writing to the device");
}

void Lane::read(cl_mem from, std::ptrdiff_t stride, MatrixWindow to) {
    if (to.rows == 0 || to.cols == 0)
        return;
    const std::size_t origin[3] = {0, 0, 0};
    const std::size_t region[3] = {to.cols * sizeof(float), static_cast<std::size_t>(to.rows), 1};
    m_device.check(api().clEnqueueReadBufferRect(m_queue.get(), from, CL_TRUE, origin, origin, region,
                                                 static_cast<std::size_t>(stride) * sizeof(float), 0,
                                                 static_cast<std::size_t>(to.stride) * sizeof(float), 0, to.data, 0,
                                                 nullptr, nullptr),
                   "reading from the device");
}

void Lane::set(cl_kernel kernel, cl_uint index, std::size_t size, const void* value) {
    m_device.check(api().clSetKernelArg(kernel, index, size, value), "passing arguments to a kernel");
}

static std::size_t roundedUp(std::size_t size, std::size_t unit) {
    return (size + unit - 1) / unit * unit;
}

void Lane::runProduct(int rows, int width) {
    const Shape& s = m_device.shape();
    const std::size_t items[2] = {roundedUp(static_cast<std::size_t>(width / (s.w * s.vectors)), s.productGroup[0]),
                                  roundedUp(static_cast<std::size_t>(rows / s.rows), s.productGroup[1])};
    m_device.check(api().clEnqueueNDRangeKernel(m_queue.get(), m_product.get(), 2, nullptr, items,
                                                s.productGroup.data(), 0, nullptr, nullptr),
                   "starting a product");
}

void Lane::runFinish(int rows) {
    const std::size_t group = m_device.shape().finishGroup, items = group * static_cast<std::size_t>(rows);
    constexpr cl_uint sharedArgument = 16;
    set(m_finish.get(), sharedArgument, group * sizeof(float), nullptr);
    m_device.check(
        api().clEnqueueNDRangeKernel(m_queue.get(), m_finish.get(), 1, nullptr, &items, &group, 0, nullptr, nullptr),
        "starting a softmax");
}

} // namespace headscope::opencl
